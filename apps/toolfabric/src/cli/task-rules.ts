import type { NewTask } from '@toolfabric/client';
import type { CallLimits, TaskBudget, TaskConstraints } from '@toolfabric/contract';
import type { Arguments, Flags } from './arguments.ts';

/** What one call may take at most. */
export const CALL_LIMIT_FLAGS: Flags = {
  'max-ms': { type: 'string', value: 'MS', help: 'milliseconds that an execution may take at most' },
  'max-bytes': { type: 'string', value: 'N', help: 'bytes of a result at most' },
  'max-tokens': { type: 'string', value: 'N', help: 'estimated tokens of a result at most' },
};

export const TASK_RULE_FLAGS: Flags = {
  writable: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    help: 'paths that may be written, relative to the workspace root, such as src/**; nothing else then; may be repeated',
  },
  'forbid-host': { type: 'string', multiple: true, value: 'HOST', help: 'a host, or *.suffix, that is never reached' },
  confirm: { type: 'string', multiple: true, value: 'TOOL', help: 'a tool or intent that a person confirms each time' },
  rounds: { type: 'string', value: 'N', help: 'turns that the task may take at most' },
  'calls-per-turn': { type: 'string', value: 'N', help: 'calls in one turn at most' },
  'calls-per-tool': { type: 'string', value: 'N', help: 'calls of one tool in one turn at most' },
  wall: { type: 'string', value: 'MS', help: 'milliseconds after which nothing new is called' },
  spend: {
    type: 'string',
    value: 'UNITS',
    help: 'units that the calls may take together; a call takes 1 or what its contract says',
  },
  serial: { type: 'boolean', help: 'one call at a time' },
  ...CALL_LIMIT_FLAGS,
};

/** Undefined where no flag says anything. Throws `UsageError`. */
export const callLimitsOf = (args: Arguments): CallLimits | undefined => {
  const limits = {
    timeoutMs: args.integer('max-ms', 10, 86_400_000),
    outputBytes: args.integer('max-bytes', 256, 49_152),
    outputTokens: args.integer('max-tokens', 64, 1_000_000),
  };
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
};

const MONTH_MS = 30 * 86_400_000;

const constraintsOf = (args: Arguments): TaskConstraints => {
  const [writable, forbiddenHosts, confirm] = [args.list('writable'), args.list('forbid-host'), args.list('confirm')];
  const limits = callLimitsOf(args);
  return {
    ...(writable.length === 0 ? {} : { writable }),
    ...(forbiddenHosts.length === 0 ? {} : { forbiddenHosts }),
    ...(confirm.length === 0 ? {} : { confirm }),
    ...(limits === undefined ? {} : { limits }),
  };
};

const budgetOf = (args: Arguments): TaskBudget => {
  const limits = {
    rounds: args.integer('rounds', 1, 10_000),
    callsPerTurn: args.integer('calls-per-turn', 1, 1_000),
    callsPerToolPerTurn: args.integer('calls-per-tool', 1, 1_000),
    wallMs: args.integer('wall', 1_000, MONTH_MS),
    spend: args.integer('spend', 1, 1_000_000_000),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
};

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

/** What a new task keeps to; nothing where no flag says anything. Throws `UsageError`. */
export const taskRulesOf = (args: Arguments): Pick<NewTask, 'constraints' | 'budget' | 'mode'> => {
  const [constraints, budget] = [constraintsOf(args), budgetOf(args)];
  return {
    ...(isEmpty(constraints) ? {} : { constraints }),
    ...(isEmpty(budget) ? {} : { budget }),
    ...(args.on('serial') ? { mode: 'serial' } : {}),
  };
};
