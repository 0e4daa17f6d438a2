import type { Verb } from '../cli/verb.ts';
import { APPROVAL_VERBS } from './approvals.ts';
import { ARTIFACT_VERBS } from './artifact.ts';
import { call } from './call.ts';
import { keys, provision } from './cluster.ts';
import { CREDENTIAL_VERBS } from './credentials.ts';
import { doctor } from './doctor.ts';
import { cancel, get, watch } from './follow.ts';
import { INTERFACE_VERBS } from './interface.ts';
import { log } from './log.ts';
import { POLICY_VERBS } from './policy.ts';
import { SEARCH_VERBS } from './search.ts';
import { taskCreate, taskEnd, taskShow, taskWiden } from './task.ts';
import { TOKEN_VERBS } from './token.ts';
import { TOOL_VERBS } from './tools.ts';
import { calls, trace } from './trace.ts';
import { UNKNOWN_VERBS } from './unknown.ts';
import { up } from './up.ts';

/** The whole command line, in the order of the help. */
export const VERBS: readonly Verb[] = [
  up,
  doctor,
  ...TOOL_VERBS,
  ...INTERFACE_VERBS,
  ...SEARCH_VERBS,
  call,
  watch,
  get,
  cancel,
  log,
  trace,
  calls,
  ...APPROVAL_VERBS,
  ...ARTIFACT_VERBS,
  ...CREDENTIAL_VERBS,
  taskCreate,
  taskShow,
  taskWiden,
  taskEnd,
  ...UNKNOWN_VERBS,
  ...POLICY_VERBS,
  ...TOKEN_VERBS,
  keys,
  provision,
];
