/** What the CPU time of a service went into, from a profile as V8 writes it. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** Microseconds between a sample and the one before. */
  readonly timeDeltas: readonly number[];
  /** Microseconds on the machine's monotonic clock. */
  readonly startTime: number;
}

export interface Share {
  readonly name: string;
  readonly ms: number;
}

export interface ProfileSummary {
  /** Milliseconds in which the main thread was not idle. */
  readonly busyMs: number;
  /** Time in the function itself, the largest first. */
  readonly self: readonly Share[];
  /** Time in functions of this project and in all that they called. */
  readonly inclusive: readonly Share[];
  /** Time in the functions of one library, or of one project. */
  readonly areas: readonly Share[];
}

type Frame = CpuProfile['nodes'][number]['callFrame'];

const IDLE = '(idle)';

const placeOf = (url: string): string =>
  url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/((apps|libs|test)\/)/, '$1');

const nameOf = ({ functionName, url, lineNumber }: Frame): string =>
  url === '' ? functionName : `${functionName || '(anonymous)'} ${placeOf(url)}:${lineNumber + 1}`;

const isOurs = ({ url }: Frame): boolean => /^(apps|libs|test)\//.test(placeOf(url));

const areaOf = ({ functionName, url }: Frame): string => {
  if (url === '') return functionName.startsWith('(') ? functionName : 'natively compiled';
  if (url.startsWith('node:')) return 'node';
  const [first = '', second = ''] = placeOf(url).split('/');
  return first.startsWith('@') || /^(apps|libs|test)$/.test(first) ? `${first}/${second}` : first;
};

const add = (sums: Map<string, number>, name: string, ms: number) => sums.set(name, (sums.get(name) ?? 0) + ms);

const largest = (sums: ReadonlyMap<string, number>): Share[] =>
  [...sums].map(([name, ms]) => ({ name, ms })).sort((a, b) => b.ms - a.ms);

/** Samples between two moments (milliseconds of the machine's clock), as time by function. */
export const summarizeProfile = (profile: CpuProfile, from: number, to: number): ProfileSummary => {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const [self, inclusive, areas] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()];
  let at = profile.startTime;
  let busyMs = 0;
  profile.samples.forEach((id, i) => {
    const delta = profile.timeDeltas[i] ?? 0;
    at += delta;
    const frame = nodes.get(id)?.callFrame;
    if (frame === undefined || at < from * 1000 || at > to * 1000 || frame.functionName === IDLE) return;
    const ms = delta / 1000;
    busyMs += ms;
    add(self, nameOf(frame), ms);
    add(areas, areaOf(frame), ms);
    const seen = new Set<string>();
    for (let up: number | undefined = id; up !== undefined; up = parents.get(up)) {
      const above = nodes.get(up)?.callFrame;
      if (above && isOurs(above)) seen.add(nameOf(above));
    }
    for (const name of seen) add(inclusive, name, ms);
  });
  return { busyMs, self: largest(self), inclusive: largest(inclusive), areas: largest(areas) };
};
