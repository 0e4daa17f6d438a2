import { type ArmedFault, type PaceName, parseFaults } from '@toolfabric/kernel';
import { z } from 'zod';

/** What the environment says; a flag of the same name wins over it. */
export interface Config {
  /** Where programs are looked for. */
  readonly path: string;
  readonly stateDir: string | undefined;
  readonly address: string | undefined;
  readonly token: string | undefined;
  readonly pace: PaceName;
  readonly isTest: boolean;
  readonly faults: readonly ArmedFault[];
}

const Environment = z.object({
  PATH: z.string().default('/usr/local/bin:/usr/bin:/bin'),
  TOOLFABRIC_STATE: z.string().min(1).optional(),
  TOOLFABRIC_ADDRESS: z.string().min(1).optional(),
  TOOLFABRIC_TOKEN: z.string().min(1).optional(),
  TOOLFABRIC_PACE: z.enum(['production', 'test']).default('production'),
  TOOLFABRIC_TEST: z.enum(['0', '1']).default('0'),
  TOOLFABRIC_FAULTS: z.string().default(''),
});

/** The only reader of the environment here. Throws when a variable has a value that it cannot have. */
export const readConfig = (env: NodeJS.ProcessEnv = process.env): Config => {
  const parsed = Environment.parse(env);
  return {
    path: parsed.PATH,
    stateDir: parsed.TOOLFABRIC_STATE,
    address: parsed.TOOLFABRIC_ADDRESS,
    token: parsed.TOOLFABRIC_TOKEN,
    pace: parsed.TOOLFABRIC_PACE,
    isTest: parsed.TOOLFABRIC_TEST === '1',
    faults: parseFaults(parsed.TOOLFABRIC_FAULTS),
  };
};
