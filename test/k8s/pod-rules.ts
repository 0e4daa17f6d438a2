import { z } from 'zod';
import type { Manifest } from './manifests.ts';

const Probe = z.looseObject({ httpGet: z.looseObject({ path: z.string() }) });
const Mount = z.looseObject({ name: z.string(), mountPath: z.string().optional(), readOnly: z.boolean().optional() });
const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })).default([]),
  /** Further settings of whoever runs the installation: never needed for a start. */
  envFrom: z
    .array(z.strictObject({ configMapRef: z.strictObject({ name: z.string(), optional: z.literal(true) }) }))
    .default([]),
  securityContext: z.looseObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
    privileged: z.literal(false).optional(),
    procMount: z.enum(['Default', 'Unmasked']).optional(),
  }),
  startupProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  resources: z.looseObject({
    requests: z.looseObject({ cpu: z.string(), memory: z.string() }),
    limits: z.looseObject({ memory: z.string() }),
  }),
  volumeMounts: z.array(Mount).default([]),
});

/** The pod security level `restricted`, and what a service of this project must have besides. */
export const PodSpec = z.looseObject({
  automountServiceAccountToken: z.literal(false),
  hostNetwork: z.undefined().optional(),
  hostPID: z.undefined().optional(),
  hostIPC: z.undefined().optional(),
  hostUsers: z.literal(false).optional(),
  terminationGracePeriodSeconds: z.int().positive(),
  securityContext: z.looseObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int().positive(),
    seccompProfile: z.union([
      z.strictObject({ type: z.literal('RuntimeDefault') }),
      z.strictObject({ type: z.literal('Localhost'), localhostProfile: z.string() }),
    ]),
  }),
  containers: z.array(Container).length(1),
  /** What stands beside it for all of its life: started before it, stopped after it. */
  initContainers: z
    .array(Container.extend({ restartPolicy: z.literal('Always') }))
    .max(1)
    .default([]),
  volumes: z
    .array(
      z.looseObject({
        name: z.string(),
        hostPath: z.undefined().optional(),
        secret: z.looseObject({ optional: z.boolean().optional() }).optional(),
        configMap: z.looseObject({ optional: z.boolean().optional() }).optional(),
      }),
    )
    .default([]),
});
export type PodSpec = z.infer<typeof PodSpec>;

const Template = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
  spec: z.looseObject({}),
});
const Workload = z.looseObject({ spec: z.looseObject({ template: Template }) });
const Scheduled = z.looseObject({ spec: z.looseObject({ jobTemplate: Workload }) });

/** The pod that a workload makes; undefined for anything that makes none. */
export const podOf = (manifest: Manifest): z.infer<typeof Template> | undefined => {
  if (manifest.kind === 'CronJob') return Scheduled.parse(manifest).spec.jobTemplate.spec.template;
  const makesPods = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job'].includes(manifest.kind);
  return makesPods ? Workload.parse(manifest).spec.template : undefined;
};

/** Every container of a pod. */
export const containersOf = ({ containers, initContainers }: PodSpec) => [...containers, ...initContainers];

/** Variables that name a file of a volume which may be missing: with them the service would not start. */
export const needsOfOptional = (pod: PodSpec): string[] => {
  const { volumes } = pod;
  const optional = volumes.filter(({ secret, configMap }) => secret?.optional || configMap?.optional);
  return containersOf(pod).flatMap(({ env, volumeMounts }) => {
    const places = volumeMounts
      .filter(({ name }) => optional.some((volume) => volume.name === name))
      .map(({ mountPath }) => `${mountPath}/`);
    return env.filter(({ value }) => places.some((place) => value.startsWith(place))).map(({ name }) => name);
  });
};

/** What a pod lacks, each with its place. */
export const podFaults = (manifest: Manifest): string[] => {
  const pod = PodSpec.safeParse(podOf(manifest)?.spec);
  if (!pod.success) return pod.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const { volumes, hostUsers } = pod.data;
  const secrets = volumes.filter(({ secret }) => secret).map(({ name }) => name);
  return containersOf(pod.data).flatMap((container) => [
    ...(manifest.kind === 'CronJob' || (container.readinessProbe && container.livenessProbe) ? [] : ['has no probes']),
    ...(container.securityContext.procMount === 'Unmasked' && hostUsers !== false
      ? ['procMount Unmasked needs hostUsers: false']
      : []),
    ...container.volumeMounts
      .filter(({ name, readOnly }) => secrets.includes(name) && readOnly !== true)
      .map(({ name }) => `mounts the secret ${name} writable`),
    ...(/:latest$/.test(container.image) ? [`image ${container.image} has no fixed version`] : []),
  ]);
};
