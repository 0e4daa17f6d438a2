import { type HttpOperation, pathArguments } from '@toolfabric/contract';
import { isSchemaObject, type SchemaObject } from '../schema-keywords.ts';
import type { DeclaredOperation, DeclaredParameter } from './interface-document.ts';

export interface OperationArguments {
  /** JSON Schema of the arguments of the tool. */
  readonly input: Record<string, unknown>;
  readonly places: Pick<HttpOperation, 'path' | 'query' | 'headers' | 'body' | 'precondition'>;
}

const ARGUMENT = /^[A-Za-z_][A-Za-z0-9_.-]{0,62}$/;
/** One named `__proto__` would be lost on its way through programs that take it for something else. */
const isArgument = (name: string): boolean => ARGUMENT.test(name) && name !== '__proto__';
const ETAG = {
  type: 'string',
  minLength: 1,
  maxLength: 300,
  description:
    'The version that it must stand at, as an answer gave it in headers.etag; with another one nothing is done.',
};

/** A name that an argument may have: what may not stand in it becomes `_`. */
const argumentName = ({ name, argument }: Pick<DeclaredParameter, 'name' | 'argument'>): string =>
  argument ??
  name
    .replace(/[^A-Za-z0-9_.-]/g, '_')
    .replace(/^(?=[^A-Za-z_])/, '_')
    .slice(0, 63);

class Arguments {
  readonly properties: Record<string, unknown> = {};
  readonly required: string[] = [];

  add(name: string, schema: unknown, isRequired: boolean): void {
    if (!isArgument(name)) throw new Error(`${name.slice(0, 80)} cannot be the name of an argument`);
    if (Object.hasOwn(this.properties, name)) throw new Error(`two values would be the argument ${name}`);
    this.properties[name] = schema;
    if (isRequired) this.required.push(name);
  }
}

/** The fields of a closed object that can stand beside the other arguments; undefined where they cannot. */
const fieldsOf = ({ body, parameters, precondition }: DeclaredOperation): [string, unknown][] | undefined => {
  if (body === undefined || body.as === 'argument' || !body.required) return undefined;
  const { type, properties, additionalProperties, ...rest } = body.schema;
  const isPlain = Object.keys(rest).every((key) => key === 'required' || key === 'description' || key === 'title');
  if (type !== 'object' || !isSchemaObject(properties) || additionalProperties !== false || !isPlain) return undefined;
  const taken = new Set([
    ...parameters.map(argumentName),
    ...(precondition === undefined ? [] : [precondition.argument]),
  ]);
  const names = Object.keys(properties);
  const canStand = names.length > 0 && names.every((name) => isArgument(name) && !taken.has(name));
  return canStand ? Object.entries(properties) : undefined;
};

const addBody = (args: Arguments, operation: DeclaredOperation): HttpOperation['body'] => {
  const { body } = operation;
  if (body === undefined) return undefined;
  const fields = fieldsOf(operation);
  if (fields === undefined) {
    if (body.as === 'fields') throw new Error('the fields of the body cannot stand beside the other arguments');
    args.add('body', body.schema, body.required);
    return { argument: 'body' };
  }
  const required = Array.isArray(body.schema.required) ? body.schema.required : [];
  for (const [name, schema] of fields) args.add(name, schema, required.includes(name));
  return { fields: fields.map(([name]) => name) };
};

const isList = (schema: SchemaObject): boolean => schema.type === 'array';

const queryPlace = (parameter: DeclaredParameter): NonNullable<HttpOperation['query']>[number] => {
  const { name, list, schema } = parameter;
  const place = { name, argument: argumentName(parameter) };
  if (!isList(schema)) return place;
  return { ...place, list: list ?? 'repeat' };
};

/** The path with the names of arguments in its braces. Throws when it names another parameter than are declared. */
const pathWith = ({ path, parameters }: DeclaredOperation): string => {
  const declared = new Map(parameters.filter((one) => one.in === 'path').map((one) => [one.name, argumentName(one)]));
  const named = new Set(pathArguments(path));
  for (const name of named)
    if (!declared.has(name)) throw new Error(`the parameter ${name} of the path is not declared`);
  for (const name of declared.keys()) if (!named.has(name)) throw new Error(`the parameter ${name} is not in the path`);
  return path.replace(/\{([^{}]+)\}/g, (_, name: string) => `{${declared.get(name)}}`);
};

/** How the arguments of a tool look, and where each of them goes. Throws an `Error` that says what cannot be placed. */
export const operationArguments = (operation: DeclaredOperation): OperationArguments => {
  const args = new Arguments();
  const { parameters, precondition } = operation;
  for (const parameter of parameters)
    args.add(argumentName(parameter), parameter.schema, parameter.required || parameter.in === 'path');
  const body = addBody(args, operation);
  if (precondition !== undefined) args.add(precondition.argument, ETAG, precondition.required);
  const query = parameters.filter((one) => one.in === 'query').map(queryPlace);
  const headers = parameters
    .filter((one) => one.in === 'header')
    .map((one) => ({ name: one.name.toLowerCase(), argument: argumentName(one) }));
  const { properties, required } = args;
  return {
    input: { type: 'object', additionalProperties: false, properties, ...(required.length === 0 ? {} : { required }) },
    places: {
      path: pathWith(operation),
      ...(query.length === 0 ? {} : { query }),
      ...(headers.length === 0 ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      ...(precondition === undefined
        ? {}
        : { precondition: { header: precondition.header, argument: precondition.argument } }),
    },
  };
};
