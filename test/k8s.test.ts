import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Found, type Manifest, readKustomized } from './k8s/manifests.ts';
import { containersOf, needsOfOptional, PodSpec, podFaults, podOf } from './k8s/pod-rules.ts';
import { schemaFaults } from './k8s/strict-schema.ts';

const path = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url));
const foldersIn = (folder: string): string[] =>
  readdirSync(path(folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** Folders that are no app, each with the app that runs there, if any. */
const OTHERS: Readonly<Record<string, string | undefined>> = { nats: undefined, provisioner: 'toolfabric' };

const all = readKustomized(path('k8s/base'));
const workloads = all.filter(({ manifest }) => podOf(manifest) !== undefined);
const folderOf = ({ file }: Found): string => file.split('/')[0] ?? '';
const named = (found: readonly Found[]): [string, Found][] =>
  found.map((one) => [`${one.file} (${one.manifest.kind} ${one.manifest.metadata.name})`, one]);
const podSpecOf = ({ manifest }: Found): PodSpec => PodSpec.parse(podOf(manifest)?.spec);

/** Stands beside a worker, in its pod. */
const SIDECAR = 'egress';
/** The app of a container: of itself where it stands beside another. */
const appIn = (found: Found, container: string): string | undefined => {
  if (container === SIDECAR) return SIDECAR;
  return folderOf(found) in OTHERS ? OTHERS[folderOf(found)] : folderOf(found);
};
/** Workers that reach the outside. */
const GO_OUT = ['worker-cli', 'worker-web'];
const readApp = (app: string): string => readFileSync(path(`apps/${app}/src/config.ts`), 'utf8');

describe('k8s/base', () => {
  it.each(named(all))('%s holds in strict mode', async (_name, { manifest }) => {
    expect(await schemaFaults(manifest)).toEqual([]);
  });

  it('has a folder for every app, and an app for every folder', () => {
    const apps = foldersIn('apps').filter((app) => existsSync(path(`apps/${app}/src`)) && app !== SIDECAR);
    const served = foldersIn('k8s/base').map((folder) => (folder in OTHERS ? OTHERS[folder] : folder));
    expect(served.filter((app) => app !== undefined).sort()).toEqual(apps.sort());
  });

  it.each(named(workloads))('%s runs restricted, with probes, resources and an image of its app', (_name, found) => {
    expect(podFaults(found.manifest)).toEqual([]);
    for (const { name, image } of containersOf(podSpecOf(found))) {
      const app = appIn(found, name);
      expect(image).toEqual(app === undefined ? expect.stringMatching(/^nats:\d/) : `toolfabric/${app}`);
    }
  });

  it.each(named(workloads))('%s sets only what its app reads', (_name, found) => {
    for (const { name: container, env } of containersOf(podSpecOf(found))) {
      const app = appIn(found, container);
      if (app === undefined) continue;
      const config = readApp(app);
      expect(env.map(({ name }) => name).filter((name) => !config.includes(`${name}:`))).toEqual([]);
    }
  });

  it.each(named(workloads))(
    '%s needs nothing that is optional, and names only settings that its app reads',
    (_name, found) => {
      expect(needsOfOptional(podSpecOf(found))).toEqual([]);
      const app = folderOf(found) in OTHERS ? OTHERS[folderOf(found)] : folderOf(found);
      if (app === undefined) return;
      const config = readFileSync(path(`apps/${app}/src/config.ts`), 'utf8');
      const told = readFileSync(path(`k8s/base/${found.file}`), 'utf8').match(/TOOLFABRIC_\w+(?==)/g) ?? [];
      expect(told.filter((name) => !config.includes(`${name}:`))).toEqual([]);
    },
  );

  it.each(['router', 'gateway', 'worker-cli', 'worker-web'])('takes further settings of the %s', (folder) => {
    const found = workloads.filter((one) => folderOf(one) === folder);
    const settings = found.flatMap((one) => podSpecOf(one).containers.flatMap(({ envFrom }) => envFrom));
    expect(settings.map(({ configMapRef }) => configMapRef.name)).toEqual([`${folder}-settings`]);
  });

  it.each(GO_OUT)('%s has the egress beside it: its socket, but none of its keys', (folder) => {
    const found = workloads.find((one) => folderOf(one) === folder) as Found;
    const pod = podSpecOf(found);
    const [worker, egress] = containersOf(pod);
    expect(podOf(found.manifest)?.metadata.labels['toolfabric.dev/goes-out']).toBe('true');
    expect(egress?.envFrom.map(({ configMapRef }) => configMapRef.name)).toEqual(['egress-settings']);
    const setting = (container: typeof worker, name: string) => container?.env.find((one) => one.name === name)?.value;
    expect(setting(egress, 'TOOLFABRIC_EGRESS_KINDS')).toBe(folder.replace('worker-', ''));
    expect(setting(worker, 'TOOLFABRIC_EGRESS_SOCKET')).toBe(setting(egress, 'TOOLFABRIC_EGRESS_SOCKET'));
    expect(egress?.securityContext['runAsUser']).not.toBe(pod.securityContext.runAsUser);
    const seen = worker?.volumeMounts.map(({ name }) => name) ?? [];
    expect(seen.filter((name) => ['vault-key', 'egress-authority', 'bus-key-egress'].includes(name))).toEqual([]);
    const kept = egress?.volumeMounts.map(({ name }) => name) ?? [];
    expect(kept).not.toContain('bus-key');
    expect(kept).toEqual(expect.arrayContaining(['vault-key', 'egress-authority', 'bus-key-egress']));
  });

  it('goes out from no other pod', () => {
    const out = workloads.filter(
      (one) => podOf(one.manifest)?.metadata.labels['toolfabric.dev/goes-out'] !== undefined,
    );
    expect(out.map(folderOf).sort()).toEqual([...GO_OUT].sort());
  });

  it.each(named(workloads))('%s stops later than its service gives up', (_name, found) => {
    // Longer than the grace of the service host, which is 30 s, unless it is a job.
    const least = found.manifest.kind === 'CronJob' ? 30 : 45;
    expect(podSpecOf(found).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(least);
  });

  it('denies all traffic, and opens single ports between named pods only', () => {
    const Policy = z.looseObject({
      spec: z.looseObject({
        podSelector: z.looseObject({}),
        ingress: z
          .array(z.looseObject({ from: z.array(z.unknown()).min(1), ports: z.array(z.unknown()).min(1) }))
          .optional(),
        egress: z
          .array(z.looseObject({ to: z.array(z.unknown()).min(1), ports: z.array(z.unknown()).min(1) }))
          .optional(),
      }),
    });
    const policies = all.filter(({ manifest }) => manifest.kind === 'NetworkPolicy').map(({ manifest }) => manifest);
    for (const policy of policies) Policy.parse(policy);
    const deny = policies.find(({ metadata }) => metadata.name === 'default-deny');
    expect(deny?.['spec']).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });

  it('lets every app reach the bus, by its own key', () => {
    for (const found of workloads.filter((one) => folderOf(one) !== 'nats')) {
      expect(podOf(found.manifest)?.metadata.labels['toolfabric.dev/bus-client']).toBe('true');
      const keys = podSpecOf(found).volumes.map(({ secret }) => secret?.['secretName']);
      const own = [`bus-key-${folderOf(found)}`, ...(GO_OUT.includes(folderOf(found)) ? ['bus-key-egress'] : [])];
      expect(keys.filter((name) => String(name).startsWith('bus-key-'))).toEqual(own);
    }
  });
});

describe('a broken manifest is found', () => {
  it('with a file that may be missing', () => {
    const spec = podSpecOf(workloads.find((one) => folderOf(one) === 'router') as Found);
    const env = [{ name: 'TOOLFABRIC_QUOTAS', value: '/var/run/toolfabric/quotas/quotas.json' }];
    const containers = spec.containers.map((container) => ({ ...container, env }));
    expect(needsOfOptional({ ...spec, containers })).toEqual(['TOOLFABRIC_QUOTAS']);
  });

  const router = workloads.find(({ manifest }) => manifest.metadata.name === 'router')?.manifest as Manifest;
  /** A copy of the router's deployment with one part changed. */
  const broken = (change: (container: Record<string, unknown>, pod: Record<string, unknown>) => void): Manifest => {
    const copy = structuredClone(router);
    const { template } = copy['spec'] as { template: { spec: { containers: Record<string, unknown>[] } } };
    change(template.spec.containers[0] ?? {}, template.spec);
    return copy;
  };

  it('with a misspelt field', async () => {
    const manifest = broken((container) => Object.assign(container, { imagePullPolcy: 'Always' }));
    expect(await schemaFaults(manifest)).toEqual(['/spec/template/spec/containers/0/imagePullPolcy: unknown field']);
  });

  it('with a wrong type, a missing field, and a kind that does not exist', async () => {
    const port = broken((container) => Object.assign(container, { ports: [{ containerPort: 'eight' }] }));
    expect(await schemaFaults(port)).toEqual([expect.stringContaining('/spec/template/spec/containers/0/ports/0')]);
    expect(await schemaFaults({ ...router, spec: { replicas: 1 } })).toHaveLength(1);
    expect(await schemaFaults({ ...router, kind: 'Deploymnt' })).toEqual(['there is no Deploymnt in apps/v1']);
  });

  it.each([
    ['root', (_: unknown, pod: object) => Object.assign(pod, { securityContext: { runAsUser: 0 } })],
    ['the network of the node', (_: unknown, pod: object) => Object.assign(pod, { hostNetwork: true })],
    [
      'a folder of the node',
      (_: unknown, pod: object) => Object.assign(pod, { volumes: [{ name: 'x', hostPath: {} }] }),
    ],
    ['no limits', (container: object) => Object.assign(container, { resources: {} })],
    ['no probes', (container: object) => Object.assign(container, { livenessProbe: undefined })],
    ['privileges', (container: object) => Object.assign(container, { securityContext: { privileged: true } })],
    [
      'settings that must be there',
      (container: object) => Object.assign(container, { envFrom: [{ configMapRef: { name: 'x' } }] }),
    ],
    ['a writable secret', (container: object) => Object.assign(container, { volumeMounts: [{ name: 'bus-key' }] })],
  ])('with %s', (_what, change) => {
    expect(podFaults(broken(change))).not.toEqual([]);
    expect(podFaults(router)).toEqual([]);
  });
});
