import { createHash, X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { type ConnectionOptions, connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { Refused } from '../refuse.ts';
import type { Target } from '../target/parse-target.ts';

/** SHA-256 of the key (SubjectPublicKeyInfo) that the host showed, hexadecimal. */
const keyOf = (socket: TLSSocket): string | undefined => {
  const { raw } = socket.getPeerCertificate();
  if (raw === undefined) return undefined;
  const key = new X509Certificate(raw).publicKey.export({ format: 'der', type: 'spki' });
  return createHash('sha256').update(key).digest('hex');
};

/** Reading all the usual authorities takes milliseconds: once for each list of them, not once for each connection. */
const contexts = new WeakMap<readonly string[], SecureContext>();
const contextOf = (ca: readonly string[]): SecureContext => {
  const known = contexts.get(ca) ?? createSecureContext({ ca: [...ca], minVersion: 'TLSv1.2' });
  contexts.set(ca, known);
  return known;
};

const isCertificateError = (thrown: unknown): boolean =>
  /CERT|SIGNATURE|ISSUER|CHAIN|VERIFY|ALTNAME|CA_|CRL/.test((thrown as NodeJS.ErrnoException).code ?? '');

/**
 * TLS to the host over a connection to its pinned address: certificate and name are checked against `ca`, and the key
 * against `keys` when there are any. Throws `tls_certificate`, `tls_key`, `connect_failed`; the socket is destroyed then.
 */
export const secureUpstream = async (
  socket: Socket,
  target: Target,
  ca: readonly string[],
  keys: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<TLSSocket> => {
  const name: ConnectionOptions = target.address === undefined ? { servername: target.host } : { host: target.address };
  const secured = connect({ socket, secureContext: contextOf(ca), ALPNProtocols: ['http/1.1'], ...name });
  const onAbort = () => secured.destroy(new Error('given up'));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      secured.once('secureConnect', resolve).once('error', reject);
      secured.once('close', () => reject(new Error('closed')));
    });
    if (keys !== undefined && !keys.includes(keyOf(secured) ?? '')) throw new Refused('tls_key');
    return secured;
  } catch (thrown) {
    // It takes the connection below with it; the other way round the process would crash.
    secured.on('error', () => {}).destroy();
    if (thrown instanceof Refused) throw thrown;
    throw new Refused(isCertificateError(thrown) ? 'tls_certificate' : 'connect_failed', thrown);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
};
