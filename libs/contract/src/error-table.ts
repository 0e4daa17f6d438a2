import type { Layer } from './layers.ts';

/**
 * Every error type of the fabric, in one table. `docs/errors.md` is held equal to it.
 *
 * `retryable` says what the caller may do with the very same request: `false` means that repeating it gives the same
 * answer; `true` means that it may succeed later (after `retryAfterMs` where the error carries one). Nothing here is
 * retryable when an outside effect may have happened: that is the status `unknown`, not an error.
 */
export interface ErrorRow {
  readonly layer: Layer;
  readonly retryable: boolean;
  readonly meaning: string;
  /** What the caller (often a model) should do next. */
  readonly hint: string;
}

const row = (layer: Layer, retryable: boolean, meaning: string, hint: string): ErrorRow => ({
  layer,
  retryable,
  meaning,
  hint,
});

export const ERROR_TABLE = {
  unauthenticated: row(
    'protocol',
    false,
    'No valid bearer token came with the request.',
    'Send `authorization: Bearer <token>` with a token of this installation.',
  ),
  forbidden: row(
    'policy',
    false,
    'The token is valid, but lacks the right that this verb needs.',
    'Use a token that holds the right named in the message.',
  ),
  invalid_request: row(
    'protocol',
    false,
    'The request itself (not the tool arguments) has the wrong shape.',
    'Correct the named field and send the request again.',
  ),
  invalid_arguments: row(
    'protocol',
    false,
    'The arguments do not match the input schema of the tool.',
    'Correct each listed field as its expectation says and call again.',
  ),
  too_large: row(
    'protocol',
    false,
    'The arguments are larger than a message may be.',
    'Send less in one call, or split the work into several calls.',
  ),
  too_deep: row(
    'protocol',
    false,
    'The arguments are nested more deeply than the fabric accepts.',
    'Flatten the arguments.',
  ),
  request_key_out_of_range: row(
    'protocol',
    false,
    'The request key is not a UUIDv7, is older than the retention, or lies ahead of the clock.',
    'Make a new UUIDv7 request key; check the clock of the client.',
  ),
  conflict: row(
    'protocol',
    false,
    'The same key was used before with another tool or other arguments.',
    'Use a new key for a new action; keep the key only for retries of the same one.',
  ),
  not_found: row(
    'protocol',
    false,
    'There is no such call, task or tool that this actor may see.',
    'Check the id; only the owner of a call or task can see it.',
  ),
  not_unknown: row(
    'protocol',
    false,
    'The outcome of this call is known, or it is being run again: there is nothing to resolve.',
    'Read the call: its result says what happened.',
  ),
  unknown_tool: row(
    'registry',
    false,
    'No published tool has this name.',
    'List the tools and use one of the names given there.',
  ),
  unknown_version: row(
    'registry',
    false,
    'The tool exists, but not in this version.',
    'Leave the version out to get the current one, or use a listed version.',
  ),
  tool_retired: row(
    'registry',
    false,
    'This version of the tool was retired and cannot be called any more.',
    'Use a published version.',
  ),
  contract_invalid: row(
    'registry',
    false,
    'The contract breaks a rule of publication.',
    'Mend what the message lists and publish again.',
  ),
  incompatible_change: row(
    'registry',
    false,
    'The version exists with other content; published versions are immutable.',
    'Publish the change under a new version.',
  ),
  denied_by_policy: row(
    'policy',
    false,
    'The policy does not allow this actor to do this.',
    'Do not rephrase the call to get round the rule; ask a person if the action is needed.',
  ),
  path_outside_workspace: row(
    'policy',
    false,
    'The path leads out of the workspace of the task.',
    'Use a path relative to the workspace root, without links that leave it.',
  ),
  task_ended: row('policy', false, 'The task of this call has ended.', 'Create a new task.'),
  approval_denied: row(
    'policy',
    false,
    'A person denied this action.',
    'Do not try the same action again; ask what is wanted instead.',
  ),
  approval_expired: row('policy', false, 'Nobody approved the action in time.', 'Call again to ask once more.'),
  unavailable: row(
    'runtime',
    true,
    'A service of the fabric does not answer at the moment.',
    'Send the same request again with the same request key.',
  ),
  overloaded: row(
    'runtime',
    true,
    'A queue, the ledger or a service has no room at the moment.',
    'Wait for `retryAfterMs`, then send the same request again.',
  ),
  no_executor: row(
    'runtime',
    true,
    'No executor of the kind that this tool needs is running.',
    'Start an executor of that kind, or use another tool.',
  ),
  abandoned: row(
    'runtime',
    true,
    'The call was recorded only in part when its router died; nothing ran.',
    'Call again with a new request key.',
  ),
  expired: row(
    'runtime',
    false,
    'The deadline passed before the action began; nothing happened.',
    'Call again with a later deadline if the action is still wanted.',
  ),
  cancelled: row(
    'runtime',
    false,
    'The call was cancelled before the action began; nothing happened.',
    'Call again if the action is still wanted.',
  ),
  dead_letter: row(
    'runtime',
    false,
    'Workers gave up on this call: each attempt ended without an answer.',
    'Report the call id to an operator; the message is kept for inspection.',
  ),
  worker_drained: row(
    'runtime',
    true,
    'The executor was shut down before it could finish; nothing happened.',
    'Call again.',
  ),
  stale_version: row(
    'tool',
    false,
    'The resource changed since the precondition was taken; nothing was written.',
    'Read the resource again and build the change on what it holds now.',
  ),
  text_not_found: row(
    'tool',
    false,
    'The text to replace does not occur in the file; nothing was written.',
    'Read the file and copy the text exactly, white space included.',
  ),
  text_ambiguous: row(
    'tool',
    false,
    'The text to replace occurs more than once; nothing was written.',
    'Add surrounding lines until the text is unique, or set `replace_all`.',
  ),
  file_not_found: row(
    'tool',
    false,
    'There is no such file or directory in the workspace.',
    'List the files and use a path given there.',
  ),
  not_a_file: row(
    'tool',
    false,
    'The path names something else than a regular file.',
    'Use the path of a regular file.',
  ),
  permission_denied: row(
    'sandbox',
    false,
    'The operating system does not let the user of the workspace do this; nothing was written.',
    'Use another file, or ask a person to change its owner or its mode.',
  ),
  binary_file: row('tool', false, 'The file is not text.', 'Use a tool that is made for this type of file.'),
  invalid_pattern: row(
    'tool',
    false,
    'The search pattern is not a valid regular expression.',
    'Correct the pattern, or search for it as a literal.',
  ),
  tool_failed: row(
    'adapter',
    false,
    'The tool itself failed in a way that its contract does not name.',
    'Read the message; the same call will probably fail again.',
  ),
  malformed_message: row(
    'executor',
    false,
    'A message on the bus was not valid: wrong shape, signature, subject or kind.',
    'Report it to an operator: nothing of it was run.',
  ),
  not_applied: row(
    'executor',
    false,
    'The action was checked afterwards and did not happen, and its deadline has passed.',
    'Call again if the action is still wanted.',
  ),
  workspace_missing: row(
    'sandbox',
    false,
    'The workspace of the task does not exist or cannot be used.',
    'Create a new task on a directory that exists below a configured root.',
  ),
  workspace_refused: row(
    'sandbox',
    false,
    'The directory may not be used as a workspace.',
    'Use a directory below a configured root that does not belong to root, or a clone.',
  ),
  budget_exceeded: row(
    'policy',
    false,
    'A limit of the task is used up; the message names it and says when it renews, if ever.',
    'Work with what is there already, go on in the next turn where the limit renews then, or end the task.',
  ),
  serial_task: row(
    'policy',
    true,
    'The task runs one call at a time, and another one is under way.',
    'Wait for the other call to end, then call again.',
  ),
  rate_limited: row(
    'policy',
    true,
    'This tenant, or this tool for it, takes more calls at the moment than its share.',
    'Wait for `retryAfterMs`, then send the same request again.',
  ),
  constraint_violated: row(
    'policy',
    false,
    'The task was made with a constraint that this call does not keep.',
    'Stay within the constraints of the task that the message names.',
  ),
  personal_data: row(
    'policy',
    false,
    'The arguments hold personal data, and the contract of this tool does not allow any.',
    'Leave the personal data out; the listed fields say where it was seen.',
  ),
  policy_unavailable: row(
    'policy',
    true,
    'The policy cannot be evaluated, so nothing is allowed.',
    'Ask an operator: `toolfabric doctor` and `toolfabric policy check` say what is wrong.',
  ),
  approval_closed: row(
    'policy',
    false,
    'This approval cannot be answered any more: it was decided or has expired, or its call has ended.',
    'Read the approval to see what became of it; nothing was run by this answer.',
  ),
  approval_changed: row(
    'policy',
    false,
    'What was approved is not what would happen now: policy, tool, a file that would run or the acting account changed.',
    'Propose the call again, so that a person sees it as it is now.',
  ),
  shell_refused: row(
    'policy',
    false,
    'The command text holds something that is never run; the message names it.',
    'Write it with plain commands, or use process.run.',
  ),
  workspace_lost: row(
    'sandbox',
    false,
    'The newest snapshot of the workspace cannot be read any more; its changes are lost.',
    'Create a new task; what the old one wrote has to be made again.',
  ),
  workspace_moved: row(
    'sandbox',
    true,
    'Another worker took the workspace over while this one worked on it; nothing of this call was kept.',
    'Call again.',
  ),
  workspace_full: row(
    'sandbox',
    false,
    'The workspace is larger than its quota.',
    'Remove what is not needed, then call again.',
  ),
  program_not_allowed: row(
    'policy',
    false,
    'The program is not on the list of this executor, or the option would make it run something else.',
    'Use an allowed program with the options that its message names.',
  ),
  no_test_command: row(
    'tool',
    false,
    'The task declares no test command.',
    'Create the task with a test command, or use process.run.',
  ),
  limit_reached: row(
    'sandbox',
    false,
    'The program was ended by a limit of its sandbox; the result says which.',
    'Make the program need less, or split the work.',
  ),
  output_invalid: row(
    'adapter',
    false,
    'The tool answered with something that its contract does not allow.',
    'Report it to the owner of the tool; the same call will probably fail again.',
  ),
  reported_failure: row(
    'adapter',
    false,
    'The tool answered, and its answer says that the action failed.',
    'Read the data of the result, and correct what it names.',
  ),
  artifact_quota: row(
    'runtime',
    false,
    'The artifact store of this tenant, or the share of this call in it, is full.',
    'Let artifacts expire, delete some, or ask an operator for more room.',
  ),
  not_configured: row(
    'runtime',
    false,
    'A part of the fabric that this verb needs is not configured in this installation; the message names it.',
    'Do without it, or ask an operator to configure what the message names; `toolfabric doctor` says what is missing.',
  ),
  traces_unavailable: row(
    'runtime',
    true,
    'The trace store does not answer; calls go on without it.',
    'Ask again later; `toolfabric doctor` says what is missing.',
  ),
  workspace_busy: row('sandbox', true, 'Another write holds the lock of the workspace.', 'Call again in a moment.'),
  sandbox_unavailable: row(
    'sandbox',
    false,
    'The isolation that this tool needs cannot be had on this executor.',
    'Run `toolfabric doctor` on the machine of the executor.',
  ),
  egress_refused: row(
    'sandbox',
    false,
    'The way out does not let the request through; the message says why.',
    'Use a host, a method and a path that the tool and the task allow, or ask a person to permit the host.',
  ),
  egress_unavailable: row(
    'executor',
    true,
    'The executor of this tool has no way out at the moment.',
    'Call again in a moment; `toolfabric doctor` says what is missing.',
  ),
  host_unreachable: row(
    'adapter',
    true,
    'The other side cannot be reached, or broke off before it answered; nothing there was changed.',
    'Call again in a moment, or use another source.',
  ),
  content_refused: row(
    'adapter',
    false,
    'What the other side sent cannot be read within the bounds of this tool.',
    'Ask for another address or another form of the content.',
  ),
  denied_by_robots: row(
    'policy',
    false,
    'The rules that the site gives to robots do not allow this address.',
    'Use another source.',
  ),
  credential_missing: row(
    'policy',
    false,
    'The tool acts with a credential that does not exist here, or was revoked.',
    'Ask its owner to add it with `toolfabric credentials add`.',
  ),
  credential_refused: row(
    'policy',
    false,
    'The other side does not accept the credential of the tool, or does not let it do this.',
    'Ask the owner of the credential to renew it or to give it the right; do not repeat the call before.',
  ),
  login_required: row(
    'policy',
    false,
    'The credential needs a new login of its owner.',
    'Ask its owner to run `toolfabric credentials login`.',
  ),
  search_failed: row(
    'adapter',
    true,
    'No provider of the search answered; the message says what became of each. It does not mean that there is nothing.',
    'Call again after the time that is named, or use another source.',
  ),
  search_unconfigured: row(
    'adapter',
    false,
    'No provider of the search can be used as it is set up here; the message says what each of them lacks.',
    'Ask an operator to set up a provider or the folder of the tenant.',
  ),
  internal: row('runtime', false, 'A fault of the fabric itself.', 'Report the call id to an operator.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorType = keyof typeof ERROR_TABLE;
export const ERROR_TYPES = Object.keys(ERROR_TABLE) as [ErrorType, ...ErrorType[]];
