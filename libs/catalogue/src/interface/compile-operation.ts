import { HttpOperation, isSafeMethod, pathArguments, type RiskGroup, type ToolContract } from '@toolfabric/contract';
import { parseContract } from '../parse-contract.ts';
import type { DeclaredOperation, InterfaceDocument } from './interface-document.ts';
import { operationArguments } from './operation-arguments.ts';
import { sampleOf } from './sample-arguments.ts';

export const HTTP_HANDLER = 'http.request';

/** Bytes in both directions: what a message may send, what is read of an answer, and what TLS adds. */
const MAX_BYTES = 6_000_000;
const NO_CONTENT: ReadonlySet<number> = new Set([204, 205]);
/** Every refusal but the one that says that a request did not come in time. */
const ALL_REFUSALS = Array.from({ length: 100 }, (_, at) => 400 + at).filter((status) => status !== 408);

const riskOf = ({ method, risk }: DeclaredOperation): RiskGroup =>
  risk ?? (isSafeMethod(method) ? 'read' : method === 'DELETE' ? 'irreversible' : 'external_write');

const refusalsOf = ({ refusals }: DeclaredOperation): number[] | undefined =>
  refusals === '4xx' ? ALL_REFUSALS : refusals;

const compiled = (document: InterfaceDocument, declared: DeclaredOperation, base: string) => {
  const { input, places } = operationArguments(declared);
  const { method, success, show, id, key } = declared;
  const refusals = refusalsOf(declared);
  const keyHeader = isSafeMethod(method) || key === false ? undefined : document.key_header;
  const operation = HttpOperation.parse({
    base,
    method,
    success,
    ...places,
    ...(refusals === undefined ? {} : { refusals }),
    ...(keyHeader === undefined ? {} : { key_header: keyHeader }),
    ...(show === undefined ? {} : { show }),
    ...(id === undefined ? {} : { id }),
  });
  return { input, operation };
};

/** The path up to the first argument, by whole segments: what the way out is opened for. */
const fixedPath = ({ base, path }: HttpOperation): string => {
  const root = new URL(base).pathname.replace(/\/$/, '');
  const segments = path.split('/');
  const first = segments.findIndex((segment) => segment.includes('{'));
  const fixed = `${root}${(first === -1 ? segments : segments.slice(0, first)).join('/')}`;
  return fixed === '' ? '/' : fixed;
};

const egressOf = ({ credential, addresses }: InterfaceDocument, operation: HttpOperation) => {
  const { protocol, hostname, port } = new URL(operation.base);
  const rule = {
    host: hostname,
    scheme: protocol.slice(0, -1),
    ...(port === '' ? {} : { ports: [Number(port)] }),
    methods: [operation.method],
    paths: [fixedPath(operation)],
    ...(addresses === undefined ? {} : { addresses }),
    ...(credential === undefined ? {} : { credential }),
  };
  return { rules: [rule], max_bytes: MAX_BYTES, max_connections: 2 };
};

const withPointers = (path: string): string => path.replace(/\{([^{}]+)\}/g, (_, name: string) => `{/${name}}`);

/** The whole of a resource is what an irreversible action is about, where nobody says more. */
const operationKeyOf = (declared: DeclaredOperation, { path }: HttpOperation, risk: RiskGroup): string | undefined => {
  if (declared.operation_key !== undefined || risk !== 'irreversible') return declared.operation_key;
  const names = pathArguments(path);
  return names.length === 0 ? undefined : names.map((name) => `{/${name}}`).join(' ');
};

const reconcileOf = (document: InterfaceDocument, declared: DeclaredOperation, operation: HttpOperation) => {
  const { reconcile } = declared;
  if (reconcile === undefined) return undefined;
  if (reconcile === 'person') return { by: 'probe', fence: 'none', window_ms: 0 };
  const { operation: asked, arguments: args, id, absent, history, fence, window_ms: windowMs } = reconcile;
  const usual = document.deduplicates && operation.key_header !== undefined ? 'dedupe' : 'none';
  return {
    by: 'query',
    query: {
      tool: `${document.interface}.${asked}@${document.version}`,
      arguments: args,
      id,
      ...(absent === undefined ? {} : { absent }),
    },
    fence: fence ?? usual,
    ...(history === undefined ? {} : { history }),
    ...(windowMs === undefined ? {} : { window_ms: windowMs }),
  };
};

const previewOf = ({ preview }: DeclaredOperation, { method, base, path }: HttpOperation): string =>
  preview ?? `${method} ${base}${withPointers(path)}`;

const writeRules = (
  document: InterfaceDocument,
  declared: DeclaredOperation,
  operation: HttpOperation,
  risk: RiskGroup,
) => {
  const { effect_scope: scope, operation_days: days, precondition } = declared;
  const key = operationKeyOf(declared, operation, risk);
  const reconcile = reconcileOf(document, declared, operation);
  return {
    ...(key === undefined ? {} : { operation_key: key }),
    ...(scope === undefined ? {} : { effect_scope: scope }),
    ...(days === undefined ? {} : { operation_days: days }),
    ...(precondition === undefined ? {} : { precondition: `/${precondition.argument}` }),
    ...(reconcile === undefined ? {} : { reconcile }),
  };
};

const outputOf = ({ method, response, success, budget_bytes }: DeclaredOperation) => {
  const hasBody = response !== undefined && method !== 'HEAD' && !success.some((status) => NO_CONTENT.has(status));
  return {
    format: 'json',
    budget_bytes,
    artifacts: true,
    schema: {
      type: 'object',
      additionalProperties: true,
      required: ['status', ...(hasBody ? ['body'] : [])],
      properties: {
        status: { type: 'integer' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
        ...(response === undefined ? {} : { body: response }),
      },
    },
  };
};

const capabilityOf = (document: InterfaceDocument, declared: DeclaredOperation, input: Record<string, unknown>) => {
  const { description, use_when, not_for, examples, name } = declared;
  return {
    intent: `${document.interface}.${name}`,
    description,
    use_when: use_when ?? [`This operation of ${document.interface} is what is wanted: ${name.replaceAll('_', ' ')}.`],
    not_for: not_for ?? [`Anything else that ${document.interface} offers: use the tool of that operation.`],
    examples: examples ?? [{ arguments: sampleOf(input) }],
  };
};

/**
 * The contract of one operation. Throws an `Error`, a `ZodError` or `contract_invalid`, each with what cannot be
 * expressed.
 *
 * What the document says of an operation sets no risk below its method: anything but a safe one is an external write.
 */
export const compileOperation = (
  document: InterfaceDocument,
  declared: DeclaredOperation,
  base: string,
): ToolContract => {
  const { input, operation } = compiled(document, declared, base);
  const risk = riskOf(declared);
  const isRead = risk === 'read';
  const { resource, redact, raise, idempotent, timeout_ms } = declared;
  const name = `${document.interface}.${declared.name}`;
  const contract = {
    name,
    version: document.version,
    toolset: document.interface,
    capability: capabilityOf(document, declared, input),
    input,
    execution: {
      adapter: 'web',
      handler: HTTP_HANDLER,
      isolation: 'process',
      timeout_ms,
      network: 'permit',
      egress: egressOf(document, operation),
      ...(document.pools === undefined ? {} : { pools: document.pools }),
      options: operation,
    },
    output: outputOf(declared),
    governance: {
      risk,
      idempotent: isRead || idempotent,
      preview: previewOf(declared, operation),
      ...(isRead ? {} : writeRules(document, declared, operation, risk)),
      // No argument names a host: where it goes stands in its rules, and is judged before every call.
      hosts: [],
      ...(resource === undefined ? {} : { resource }),
      ...(redact === undefined ? {} : { redact }),
      ...(raise === undefined ? {} : { raise }),
    },
  };
  return parseContract(contract, name);
};
