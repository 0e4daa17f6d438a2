import { createPrivateKey, generateKeyPair, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import forge from 'node-forge';

const { asn1, util } = forge;
/** Its types leave this function out. */
const pki = forge.pki as typeof forge.pki & {
  getTBSCertificate(certificate: forge.pki.Certificate): forge.asn1.Asn1;
};

export interface Pem {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  readonly name: string;
  /** Names and addresses that it is for; an authority without. */
  readonly hosts?: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Its own key signs it when left out. */
  readonly issuer?: Pem;
}

const generate = promisify(generateKeyPair);

/** An RSA key as PEM (PKCS #8 and SubjectPublicKeyInfo). */
export const createKey = async (): Promise<{ readonly privateKey: string; readonly publicKey: string }> => {
  const { privateKey, publicKey } = await generate('rsa', { modulusLength: 2048 });
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicKey: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  };
};

const isAddress = (host: string) => /^[\d.]+$/.test(host) || host.includes(':');
const altNames = (hosts: readonly string[]) =>
  hosts.map((host) => (isAddress(host) ? { type: 7, ip: host } : { type: 2, value: host }));

const extensionsOf = (hosts: readonly string[] | undefined): object[] =>
  hosts === undefined
    ? [
        { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ]
    : [
        { name: 'basicConstraints', cA: false, critical: true },
        { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
        { name: 'extKeyUsage', serverAuth: true },
        { name: 'subjectAltName', altNames: altNames(hosts) },
      ];

/**
 * Hexadecimal digits of a number above zero in its shortest form, as DER wants it: with a zero byte before it, whoever
 * checks the certificate refuses it.
 */
export const serialNumber = (random: Buffer): string => {
  const [first = 0, ...rest] = random;
  return Buffer.from([(first & 0x3f) | 0x40, ...rest]).toString('hex');
};

/** An X.509 certificate over the public key (PEM), as PEM. The signature is made by node: forge has none in native code. */
export const createCertificate = (
  { name, hosts, notBefore, notAfter, issuer }: CertificateOptions,
  publicKey: string,
  ownKey: string,
): string => {
  const certificate = pki.createCertificate();
  const subject = [{ name: 'commonName', value: name.slice(0, 64) }];
  certificate.publicKey = pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = serialNumber(randomBytes(16));
  certificate.validity = { notBefore, notAfter };
  certificate.setSubject(subject);
  certificate.setIssuer(issuer === undefined ? subject : pki.certificateFromPem(issuer.cert).subject.attributes);
  certificate.setExtensions(extensionsOf(hosts));
  const oid = pki.oids.sha256WithRSAEncryption as string;
  Object.assign(certificate, { signatureOid: oid, siginfo: { algorithmOid: oid, parameters: null } });
  const body = pki.getTBSCertificate(certificate);
  const bytes = Buffer.from(asn1.toDer(body).getBytes(), 'latin1');
  const signature = sign('sha256', bytes, createPrivateKey(issuer?.key ?? ownKey));
  Object.assign(certificate, { tbsCertificate: body, signature: util.createBuffer(signature).getBytes() });
  return pki.certificateToPem(certificate);
};

const DAY_MS = 86_400_000;

/** A new authority of one installation, good for ten years from `now` on (milliseconds since the epoch). */
export const createAuthority = async (now: number): Promise<Pem> => {
  const { privateKey, publicKey } = await createKey();
  const options = {
    name: `toolfabric egress ${randomBytes(4).toString('hex')}`,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + 3_650 * DAY_MS),
  };
  return { cert: createCertificate(options, publicKey, privateKey), key: privateKey };
};
