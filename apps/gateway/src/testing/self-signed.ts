import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** One DER element. */
const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const time = (date: Date) => der(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));

const ED25519 = sequence(oid('2b6570'));
const COMMON_NAME = '550403';
const ALT_NAME = '551d11';
const pem = (body: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${body.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

/** A certificate for 127.0.0.1 that is its own authority, good for an hour, and its key; both PEM. */
export const selfSigned = (): { cert: string; key: string } => {
  const pair = generateKeyPairSync('ed25519');
  const name = sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from('toolfabric test')))));
  const altName = sequence(der(0x87, Buffer.from([127, 0, 0, 1])));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), randomBytes(15)),
    ED25519,
    name,
    sequence(time(new Date(Date.now() - 3_600_000)), time(new Date(Date.now() + 3_600_000))),
    name,
    pair.publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(sequence(oid(ALT_NAME), der(0x04, altName)))),
  );
  const signature = der(0x03, Buffer.from([0]), sign(null, body, pair.privateKey));
  return {
    cert: pem(sequence(body, ED25519, signature)),
    key: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  };
};
