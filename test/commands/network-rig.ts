import type { RequestListener } from 'node:http';
import type { EgressPermit, EgressRule } from '@toolfabric/contract';
import { createEgressDoor } from '@toolfabric/egress-http';
import type { EgressSession } from '@toolfabric/ports';
import { certificateFor, testAuthority } from '../../apps/egress/src/testing/certificates.ts';
import { openEgress, permitFor } from '../../apps/egress/src/testing/open-egress.ts';
import { openPeer } from '../../apps/egress/src/testing/open-peer.ts';
import {
  type CallOptions,
  callTool,
  makeFixture,
  makeWorkspace,
} from '../../apps/worker-cli/src/testing/driver-fixture.ts';
import { putFile } from '../../apps/worker-cli/src/testing/put-file.ts';
import { envelopeOf } from '../egress/client-rig.ts';

export const HOST = 'packages.example.com';

/** What of a command is looked at. */
export interface RunData {
  readonly exit_code: number | null;
  readonly stdout: { readonly text: string };
  readonly stderr: { readonly text: string };
  readonly survivors: number;
  readonly network?: { readonly refused: readonly { readonly host: string; readonly reason: string }[] };
}

/** A worker with a workspace, a real egress beside it, and behind that one host without TLS and with it. */
export const openNetworkRig = async (answer: RequestListener, caFile: (pem: string) => string) => {
  const [outside, inside] = await Promise.all([testAuthority(), testAuthority()]);
  const plain = await openPeer(undefined, answer);
  const secure = await openPeer(await certificateFor([HOST], outside), answer);
  const egress = await openEgress({ authority: inside, extraCa: [outside.cert] });
  const door = createEgressDoor({ socketPath: egress.socketPath, caFile: caFile(inside.cert) });
  const fixture = await makeFixture();
  const workspace = await makeWorkspace(fixture);
  const near = { host: HOST, addresses: ['127.0.0.0/8'] };
  const rules = {
    plain: { ...near, scheme: 'http', ports: [plain.port] },
    passed: { ...near, ports: [secure.port] },
    read: { ...near, ports: [secure.port], methods: ['GET', 'HEAD', 'POST'] },
  } satisfies Record<string, EgressRule>;
  const tokens: string[] = [];
  const session = (allowed: readonly EgressRule[], over: Partial<EgressPermit> = {}): EgressSession => {
    const way = door.session(envelopeOf(permitFor(allowed, over)));
    const proxy: EgressSession['proxy'] = async (signal) => {
      const told = await way.proxy(signal);
      tokens.push(told.token);
      return told;
    };
    return { proxy, request: (asked) => way.request(asked), close: () => way.close() };
  };
  return {
    egress,
    fixture,
    workspace,
    rules,
    session,
    plain: `http://${HOST}:${plain.port}`,
    secure: `https://${HOST}:${secure.port}`,
    put: (path: string, text: string) => putFile(workspace, path, text),
    tokens,
    /** @param args beside `argv` */
    run: async (argv: readonly string[], way: EgressSession | undefined, more: CallOptions = {}, args: object = {}) => {
      const options = { ...more, ...(way === undefined ? {} : { egress: way }) };
      try {
        const outcome = await callTool(fixture.driver, 'process.run', workspace, { argv, ...args }, options);
        return { outcome, data: outcome.data as unknown as RunData };
      } finally {
        await way?.close();
      }
    },
    stop: async () => {
      await egress.stop();
      await Promise.all([plain.stop(), secure.stop()]);
      await fixture.remove();
    },
  };
};
export type NetworkRig = Awaited<ReturnType<typeof openNetworkRig>>;
