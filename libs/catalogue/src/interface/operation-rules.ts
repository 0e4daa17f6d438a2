import {
  type EgressRule,
  effectOf,
  HttpOperation,
  isSafeMethod,
  pathArguments,
  type ToolContract,
} from '@toolfabric/contract';
import { isSchemaObject } from '../schema-keywords.ts';
import { HTTP_HANDLER } from './compile-operation.ts';

const argumentsOf = ({ path, query = [], headers = [], body, precondition }: HttpOperation): string[] => [
  ...pathArguments(path),
  ...[...query, ...headers].map(({ argument }) => argument),
  ...(body === undefined ? [] : 'argument' in body ? [body.argument] : body.fields),
  ...(precondition === undefined ? [] : [precondition.argument]),
];

/** Each argument has one place, and each place an argument: what a person sees is what is sent. */
const placeProblems = ({ input }: ToolContract, operation: HttpOperation): string[] => {
  const placed = argumentsOf(operation);
  const known = Object.keys(isSchemaObject(input.properties) ? input.properties : {});
  const required = Array.isArray(input.required) ? input.required : [];
  return [
    ...placed.filter((name) => !known.includes(name)).map((name) => `execution.options: ${name} is no argument`),
    ...placed
      .filter((name, at) => placed.indexOf(name) !== at)
      .map((name) => `execution.options: ${name} has two places`),
    ...known.filter((name) => !placed.includes(name)).map((name) => `input.properties.${name}: is sent nowhere`),
    ...pathArguments(operation.path)
      .filter((name) => !required.includes(name))
      .map((name) => `input.properties.${name}: a part of the path is required`),
  ];
};

const isFor = (rule: EgressRule, { base, method }: HttpOperation): boolean => {
  const { protocol, hostname } = new URL(base);
  const isHost = rule.host === hostname && (rule.scheme ?? 'https') === protocol.slice(0, -1);
  return isHost && (rule.methods === undefined || rule.methods.includes(method));
};

/** The way out shows no secret over plain HTTP but to a host inside that a rule names by its addresses. */
const showsNothing = ({ scheme, addresses, credential }: EgressRule): boolean =>
  credential !== undefined && scheme === 'http' && addresses === undefined;

/**
 * RE-2, WB-4: what is wrong with a contract of `http.request`; each begins with the path of the field. The method sets
 * the least risk: whatever a document or a server says, anything but a safe method is an effect outside.
 */
export const operationProblems = (contract: ToolContract): string[] => {
  const { execution, governance } = contract;
  if (execution.handler !== HTTP_HANDLER) return [];
  const parsed = HttpOperation.safeParse(execution.options);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return [`execution.options.${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'is no operation'}`];
  }
  const operation = parsed.data;
  const isWrite = !isSafeMethod(operation.method);
  return [
    ...(isWrite && effectOf(governance.risk) !== 'outside'
      ? [`governance.risk: ${operation.method} changes the other side: it is an external_write at least`]
      : []),
    ...(execution.egress?.rules.some((rule) => isFor(rule, operation)) === true
      ? []
      : ['execution.egress.rules: none of them lets the operation out']),
    ...(execution.egress?.rules.some(showsNothing) === true
      ? [
          'execution.egress.rules: over http a credential is only shown to a host whose `addresses` are named; use https',
        ]
      : []),
    ...(governance.reconcile?.fence === 'dedupe' && operation.key_header === undefined
      ? ['governance.reconcile.fence: without key_header the other side cannot know a repeated request']
      : []),
    ...placeProblems(contract, operation),
  ];
};
