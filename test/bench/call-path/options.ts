import { parseArgs } from 'node:util';

export const PARTS = ['numbers', 'scale', 'hops'] as const;
export type Part = (typeof PARTS)[number];

export interface Options {
  readonly quick: boolean;
  /** Whether a missed must fails the run. */
  readonly assert: boolean;
  /** File for the whole report as JSON. */
  readonly json: string | undefined;
  /** Document whose numbers are replaced by those of this run. */
  readonly document: string | undefined;
  /** Whether to take CPU profiles of the services as well. */
  readonly profile: boolean;
  readonly parts: readonly Part[];
  /** Another checkout of the project, to be compared with this one in the same run. */
  readonly against: string | undefined;
}

export const USAGE = `npm run bench call-path -- [options]
  --quick         about 40 seconds, for a first look; too short to publish
  --no-assert     print only: a missed limit does not fail the run
  --json FILE     the whole report as JSON
  --document FILE writes the numbers of this run into docs/performance.md
  --profile       CPU profiles of gateway, router and worker as well
  --against DIR   compares this checkout with another one instead of measuring the parts
  --part NAME     only this part: ${PARTS.join(', ')}; may be repeated`;

const isPart = (name: string): name is Part => (PARTS as readonly string[]).includes(name);

/** Throws for anything that is not an option. */
export const parseOptions = (args: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      'no-assert': { type: 'boolean', default: false },
      json: { type: 'string' },
      document: { type: 'string' },
      profile: { type: 'boolean', default: false },
      against: { type: 'string' },
      part: { type: 'string', multiple: true, default: [] },
    },
  });
  const unknown = values.part.find((name) => !isPart(name));
  if (unknown !== undefined) throw new Error(`there is no part ${unknown}`);
  const parts = values.part.length === 0 ? PARTS : values.part.filter(isPart);
  return {
    quick: values.quick,
    assert: !values['no-assert'],
    json: values.json,
    document: values.document,
    profile: values.profile,
    parts: values.against === undefined ? parts : [],
    against: values.against,
  };
};
