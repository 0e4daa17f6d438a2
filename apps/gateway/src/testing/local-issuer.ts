import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** An issuer of tokens on loopback, whose keys and answers a test changes while it runs. */
export class LocalIssuer {
  readonly url: string;
  readonly #close: () => void;
  #keys: { readonly kid: string; readonly pair: KeyPair }[] = [];
  /** Answers with 503. */
  isDown = false;
  /** What the discovery document says of its own issuer, when it lies. */
  saysIssuer: string | undefined;
  /** Times that the keys were asked for. */
  asked = 0;

  private constructor(url: string, close: () => void) {
    this.url = url;
    this.#close = close;
  }

  static async open(): Promise<LocalIssuer> {
    const server = createServer(async (request, response) => {
      if (issuer.isDown) return void response.writeHead(503).end();
      const isKeys = request.url === '/keys';
      if (isKeys) issuer.asked += 1;
      const body = isKeys
        ? { keys: await issuer.#published() }
        : { issuer: issuer.saysIssuer ?? issuer.url, jwks_uri: `${issuer.url}/keys` };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const issuer: LocalIssuer = new LocalIssuer(`http://127.0.0.1:${port}`, () => {
      server.close();
      server.closeAllConnections();
    });
    await issuer.addKey('first');
    return issuer;
  }

  async addKey(kid: string): Promise<void> {
    this.#keys.unshift({ kid, pair: await generateKeyPair('ES256', { extractable: true }) });
  }

  removeKey(kid: string): void {
    this.#keys = this.#keys.filter((key) => key.kid !== kid);
  }

  #published() {
    return Promise.all(
      this.#keys.map(async ({ kid, pair }) => ({
        ...(await exportJWK(pair.publicKey)),
        kid,
        alg: 'ES256',
        use: 'sig',
      })),
    );
  }

  /** The public half of the newest key, as PEM-like bytes that a confused verifier would take for a secret. */
  async publicBytes(): Promise<Uint8Array> {
    const [newest] = await this.#published();
    return Buffer.from(JSON.stringify(newest));
  }

  /** Signed with the newest key, good for five minutes unless the claims say otherwise. */
  async sign(claims: Readonly<Record<string, unknown>>, header: { readonly kid?: string } = {}): Promise<string> {
    const [newest] = this.#keys;
    if (newest === undefined) throw new Error('the issuer has no key');
    const now = Math.floor(Date.now() / 1_000);
    const whole = { iss: this.url, aud: 'toolfabric', sub: 'ann', azp: 'coder', iat: now, exp: now + 300, ...claims };
    return new SignJWT(whole)
      .setProtectedHeader({ alg: 'ES256', kid: header.kid ?? newest.kid })
      .sign(newest.pair.privateKey);
  }

  close(): void {
    this.#close();
  }
}
