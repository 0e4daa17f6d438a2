import { EGRESS_PERMIT_TYPE, type EgressPermit, type EgressRule } from '@toolfabric/contract';
import { createEgressDoor } from '@toolfabric/egress-http';
import type { EgressSession } from '@toolfabric/ports';
import { testAuthority } from '../../apps/egress/src/testing/certificates.ts';
import { openEgress, permitFor, routerSigner, type TestEgress } from '../../apps/egress/src/testing/open-egress.ts';
import type { Driver } from '../../apps/worker-web/src/driver.ts';
import { type CallOptions, callFetch, openDriver } from '../../apps/worker-web/src/testing/web-fixture.ts';

/** Names of the outside, and the addresses that they have; a list is gone through, one a question. */
export type Names = Record<string, string | string[]>;

const LOOPBACK = ['127.0.0.0/8'];

export interface WebRig {
  readonly egress: TestEgress;
  readonly driver: Driver;
  readonly names: Names;
  /** Leave for hosts of the outside at one port, which lie on this machine. */
  rules(port: number, ...hosts: string[]): EgressRule[];
  session(rules: readonly EgressRule[], over?: Partial<EgressPermit>): EgressSession;
  /** `url.fetch` with leave of its own, as one call of a tenant. */
  fetch(
    url: string,
    rules: readonly EgressRule[],
    more?: CallOptions & { readonly args?: Record<string, unknown>; readonly permit?: Partial<EgressPermit> },
  ): ReturnType<typeof callFetch>;
  stop(): Promise<void>;
}

/** The worker's own code before a real egress, which asks a list of names in place of a resolver. */
export const openWebRig = async (extraCa: readonly string[] = []): Promise<WebRig> => {
  const names: Names = {};
  const resolve = (host: string) => {
    const known = names[host] ?? '127.0.0.1';
    const address = typeof known === 'string' ? known : known.length > 1 ? known.shift() : known[0];
    return Promise.resolve([address ?? '127.0.0.1']);
  };
  const authority = await testAuthority();
  const egress = await openEgress({ authority, extraCa }, { resolver: { resolve } });
  const door = createEgressDoor({ socketPath: egress.socketPath, ca: authority.cert });
  const driver = openDriver({ limits: { headMs: 1_500, bodyMs: 1_500, redirects: 5 } });
  const session = (rules: readonly EgressRule[], over: Partial<EgressPermit> = {}): EgressSession =>
    door.session(routerSigner.sign(EGRESS_PERMIT_TYPE, JSON.stringify(permitFor(rules, over))));
  return {
    egress,
    driver,
    names,
    session,
    rules: (port, ...hosts) =>
      hosts.map((host) => ({
        host,
        scheme: 'http' as const,
        ports: [port],
        methods: ['GET', 'HEAD'],
        addresses: LOOPBACK,
      })),
    async fetch(url, rules, { args = {}, permit = {}, ...options } = {}) {
      const own = session(rules, permit);
      try {
        return await callFetch(driver, { url, ...args }, { ...options, egress: own });
      } finally {
        await own.close();
      }
    },
    async stop() {
      driver.close();
      await egress.stop();
    },
  };
};
