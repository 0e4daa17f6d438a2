import type { RequestListener } from 'node:http';
import { EGRESS_PERMIT_TYPE, type EgressPermit, type EgressRule } from '@toolfabric/contract';
import { createEgressDoor } from '@toolfabric/egress-http';
import type { EgressResponse, EgressSession } from '@toolfabric/ports';
import { certificateFor, testAuthority } from '../../apps/egress/src/testing/certificates.ts';
import { openEgress, permitFor, routerSigner } from '../../apps/egress/src/testing/open-egress.ts';
import { openPeer } from '../../apps/egress/src/testing/open-peer.ts';

export const HOST = 'shop.example.com';

export const envelopeOf = (permit: EgressPermit) => routerSigner.sign(EGRESS_PERMIT_TYPE, JSON.stringify(permit));

export const textOf = async ({ body }: EgressResponse): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

/** A real egress with one peer over TLS and one without, and the door of a worker before it. */
export const openClientRig = async (answer: RequestListener) => {
  const [outside, inside] = await Promise.all([testAuthority(), testAuthority()]);
  const secure = await openPeer(await certificateFor([HOST], outside), answer);
  const plain = await openPeer(undefined, answer);
  const egress = await openEgress({ authority: inside, extraCa: [outside.cert] });
  // What is passed through shows the certificate of the host itself: a worker trusts that authority only in this test.
  const door = createEgressDoor({ socketPath: egress.socketPath, ca: `${inside.cert}\n${outside.cert}` });
  const near = { host: HOST, addresses: ['127.0.0.0/8'] };
  const rules: Readonly<Record<'passed' | 'read' | 'plain', EgressRule>> = {
    passed: { ...near, ports: [secure.port] },
    read: { ...near, ports: [secure.port], methods: ['GET', 'HEAD', 'POST'] },
    plain: { ...near, scheme: 'http', ports: [plain.port] },
  };
  const sessions: EgressSession[] = [];
  return {
    egress,
    door,
    secure,
    plain,
    rules,
    inside,
    outside,
    secureUrl: (path: string) => new URL(`https://${HOST}:${secure.port}${path}`),
    plainUrl: (path: string) => new URL(`http://${HOST}:${plain.port}${path}`),
    session: (allowed: readonly EgressRule[], over: Partial<EgressPermit> = {}): EgressSession => {
      const session = door.session(envelopeOf(permitFor(allowed, over)));
      sessions.push(session);
      return session;
    },
    stop: async () => {
      await Promise.all(sessions.map((session) => session.close()));
      await egress.stop();
      await Promise.all([secure.stop(), plain.stop()]);
    },
  };
};
export type ClientRig = Awaited<ReturnType<typeof openClientRig>>;

/** A request with nothing in it, given up after 20 s. */
export const get = (url: URL, over: Partial<Parameters<EgressSession['request']>[0]> = {}) => ({
  method: 'GET',
  url,
  headers: {},
  signal: AbortSignal.timeout(20_000),
  ...over,
});
