import { CredentialHandle, effectOf, type ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { isRedactionRule, REDACTION_RULES } from '@toolfabric/results';
import { pointerTokens } from './json-pointer.ts';
import { raiseProblems } from './raise-rules.ts';
import { queryPointers } from './reconcile-query.ts';
import { isSchemaObject } from './schema-keywords.ts';
import { parseTemplate } from './template.ts';

/** Milliseconds. Below the first nothing that crosses the bus can finish; the others end what nobody waits for. */
const MIN_TIMEOUT = 100;
const MAX_TIMEOUT = 3_600_000;
const MAX_BACKGROUND_TIMEOUT = 86_400_000;
/** A claimless call is not told apart from its redelivery: a long one deserves a claim. */
const MAX_CLAIMLESS_TIMEOUT = 60_000;

type Rule = (contract: ToolContract) => readonly (string | false | undefined)[];

const timeouts: Rule = ({ execution: { timeout_ms, background }, governance: { claimless } }) => [
  timeout_ms < MIN_TIMEOUT && `execution.timeout_ms: at least ${MIN_TIMEOUT}`,
  background === true && claimless && 'execution.background: a call without a claim cannot run apart from its delivery',
  timeout_ms > (background === true ? MAX_BACKGROUND_TIMEOUT : MAX_TIMEOUT) &&
    `execution.timeout_ms: at most ${background === true ? MAX_BACKGROUND_TIMEOUT : MAX_TIMEOUT}`,
  claimless &&
    timeout_ms > MAX_CLAIMLESS_TIMEOUT &&
    `execution.timeout_ms: at most ${MAX_CLAIMLESS_TIMEOUT} without a claim`,
];

/** A preview is none of them: what was read before can make a person be asked about a read. */
const WRITE_FIELDS = ['operation_key', 'operation_days', 'effect_scope', 'precondition', 'reconcile'] as const;

const reads: Rule = ({ governance }) =>
  effectOf(governance.risk) === 'none'
    ? WRITE_FIELDS.map((field) => governance[field] !== undefined && `governance.${field}: a read has none`)
    : [governance.claimless && 'governance.claimless: only a contract without effect may go without a claim'];

const writes: Rule = ({ governance: { risk, idempotent, operation_key, effect_scope, reconcile } }) => {
  const heavy = risk === 'irreversible' || risk === 'privileged';
  return [
    heavy && operation_key === undefined && `governance.operation_key: needed for ${risk}`,
    heavy && reconcile === undefined && `governance.reconcile: needed for ${risk}`,
    !heavy &&
      risk === 'external_write' &&
      !idempotent &&
      reconcile === undefined &&
      'governance.reconcile: needed for an outside effect that is not idempotent',
    effect_scope !== undefined &&
      operation_key === undefined &&
      'governance.effect_scope: means nothing without operation_key',
  ];
};

const fences: Rule = ({ governance: { risk, reconcile } }) => [
  reconcile?.fence === 'workspace_lock' &&
    effectOf(risk) !== 'workspace' &&
    'governance.reconcile.fence: a workspace lock fences workspace effects only',
  reconcile?.fence === 'dedupe' &&
    effectOf(risk) !== 'outside' &&
    'governance.reconcile.fence: only an outside peer can deduplicate',
];

/** The problem with a pointer that must name an argument; through required fields only when `required`. */
const pointerProblem = (contract: ToolContract, pointer: string, required: boolean): string | undefined => {
  let schema: unknown = contract.input;
  for (const token of pointerTokens(pointer)) {
    const properties = isSchemaObject(schema) && isSchemaObject(schema.properties) ? schema.properties : {};
    if (!Object.hasOwn(properties, token)) return `${pointer} is no argument`;
    const isRequired = isSchemaObject(schema) && Array.isArray(schema.required) && schema.required.includes(token);
    if (required && !isRequired) return `${pointer} is not a required argument, so the text would not be an identity`;
    schema = properties[token];
  }
  return undefined;
};

/** In words, for a person: what it names must be there, though a call may leave it out. */
const previewProblems = (contract: ToolContract, template: string | undefined): string[] => {
  if (template === undefined) return [];
  try {
    return parseTemplate(template)
      .flatMap((part) => ('pointer' in part ? [part.pointer] : []))
      .flatMap((pointer) => pointerProblem(contract, pointer, false) ?? [])
      .map((why) => `governance.preview: ${why}`);
  } catch (error) {
    if (error instanceof FabricError) return [`governance.preview: ${error.message}`];
    throw error;
  }
};

const templateProblems = (contract: ToolContract, path: string, template: string | undefined): string[] => {
  if (template === undefined) return [];
  try {
    const pointers = parseTemplate(template).flatMap((part) => ('pointer' in part ? [part.pointer] : []));
    if (pointers.length === 0) return [`${path}: names no argument, so every call would be the same action`];
    return pointers.flatMap((pointer) => pointerProblem(contract, pointer, true) ?? []).map((why) => `${path}: ${why}`);
  } catch (error) {
    if (error instanceof FabricError) return [`${path}: ${error.message}`];
    throw error;
  }
};

const templates: Rule = (contract) => {
  const { operation_key, precondition, preview } = contract.governance;
  const isPointer = precondition === undefined || /^(\/[^/]+)+$/.test(precondition);
  const why = isPointer && precondition !== undefined ? pointerProblem(contract, precondition, false) : undefined;
  return [
    ...templateProblems(contract, 'governance.operation_key', operation_key),
    ...previewProblems(contract, preview),
    !isPointer && 'governance.precondition: a JSON pointer such as /expected_hash',
    why !== undefined && `governance.precondition: ${why}`,
  ];
};

/** A template that cannot be read is told where the query is looked at. */
const askedPointers = (template: unknown): string[] => {
  try {
    return queryPointers(template);
  } catch {
    return [];
  }
};

const group: Rule = ({ name, toolset }) => [
  name.split('.')[0] !== toolset && `toolset: ${name} belongs to the group ${name.split('.')[0]}`,
];

const redaction: Rule = ({ governance: { redact } }) =>
  redact.map(
    (rule) =>
      !isRedactionRule(rule) &&
      `governance.redact: there is no rule ${JSON.stringify(rule.slice(0, 80))}; a rule is a JSON pointer or one of ${REDACTION_RULES.join(', ')}`,
  );

const reconciles: Rule = (contract) => {
  const { reconcile, operation_key } = contract.governance;
  if (reconcile === undefined) return [];
  const { by, query, fence, history } = reconcile;
  return [
    by === 'query' && query === undefined && 'governance.reconcile.query: needed where another tool is asked',
    by === 'probe' && query !== undefined && 'governance.reconcile.query: a probe asks no other tool',
    by === 'query' &&
      fence === 'workspace_lock' &&
      'governance.reconcile.fence: another tool holds no lock of this one',
    history === true &&
      operation_key === undefined &&
      'governance.reconcile.history: means nothing without operation_key: a key of the caller says its age itself',
    ...askedPointers(query?.arguments).map((pointer) => {
      const why = pointerProblem(contract, pointer, true);
      return why !== undefined && `governance.reconcile.query.arguments: ${why}`;
    }),
  ];
};

/** A pointer to nothing would look at nothing, and let everything pass. */
const namedPaths: Rule = (contract) =>
  (['writes', 'executes'] as const).flatMap((field) =>
    (contract.governance[field] ?? []).map((pointer) => {
      const why = /^(\/[^/]+)+$/.test(pointer) ? pointerProblem(contract, pointer, false) : 'is no JSON pointer';
      return why !== undefined && `governance.${field}: ${why.startsWith(pointer) ? why : `${pointer} ${why}`}`;
    }),
  );

/** Bytes of canonical JSON: it travels in every message of the tool. */
const MAX_OPTIONS = 8_192;

const READING = new Set(['GET', 'HEAD']);

/** What a contract asks the way out for, and what its fence rests on. */
const ways: Rule = ({ execution, governance: { risk, hosts, reconcile } }) => {
  const { network, egress, credentials, options } = execution;
  const rules = egress?.rules ?? [];
  const any = rules.filter(({ host }) => host === '*');
  return [
    network === 'permit' && egress === undefined && 'execution.egress: needed where network is permit',
    network === 'none' && egress !== undefined && 'execution.egress: means nothing without network: permit',
    egress !== undefined &&
      rules.length === 0 &&
      egress.from_arguments === undefined &&
      'execution.egress: rules or from_arguments: else nothing could be reached',
    egress?.from_arguments !== undefined &&
      (hosts ?? []).length === 0 &&
      'execution.egress.from_arguments: governance.hosts must say which arguments name them',
    any.some(({ methods }) => !(methods?.every((method) => READING.has(method)) ?? false)) &&
      'execution.egress.rules: a rule for any host names the methods GET, HEAD or both',
    any.some(({ addresses, credential, keys }) => [addresses, credential, keys].some((part) => part !== undefined)) &&
      'execution.egress.rules: a rule for any host has no addresses, credential or keys',
    ...credentials.map(
      (handle) =>
        !CredentialHandle.safeParse(handle).success &&
        `execution.credentials: ${JSON.stringify(handle.slice(0, 80))}: "user:", "tenant:" or "shared:" and a name`,
    ),
    reconcile?.fence === 'egress' &&
      (network !== 'permit' || effectOf(risk) !== 'outside') &&
      'governance.reconcile.fence: the egress fences outside effects that go through it',
    Buffer.byteLength(JSON.stringify(options)) > MAX_OPTIONS && `execution.options: at most ${MAX_OPTIONS} bytes`,
  ];
};

const RULES: readonly Rule[] = [
  raiseProblems,
  ways,
  redaction,
  group,
  timeouts,
  reads,
  writes,
  namedPaths,
  fences,
  templates,
  reconciles,
];

/** What breaks a rule between execution and governance; each begins with the path of the field. */
export const governanceProblems = (contract: ToolContract): string[] =>
  RULES.flatMap((rule) => rule(contract)).filter((problem) => typeof problem === 'string');

/** What is allowed and will need a person when a worker dies at the wrong moment. */
export const governanceWarnings = ({ governance }: ToolContract): string[] =>
  effectOf(governance.risk) === 'workspace' && !governance.idempotent && governance.reconcile === undefined
    ? ['governance.reconcile: without a probe, an interrupted call stays unknown until a person looks']
    : [];
