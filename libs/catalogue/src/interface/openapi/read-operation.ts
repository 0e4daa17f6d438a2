import { HttpMethod, RequestHeader } from '@toolfabric/contract';
import { isSchemaObject, type SchemaObject } from '../../schema-keywords.ts';
import { type Conversion, convertSchema } from './convert-schema.ts';
import { followed } from './follow-reference.ts';
import { plainText } from './plain-text.ts';

/** Where an operation stands in the document. */
export interface FoundOperation {
  /** Its `operationId`, or method and path. */
  readonly id: string;
  readonly method: HttpMethod;
  readonly path: string;
  readonly item: SchemaObject;
  readonly operation: SchemaObject;
}

const MAX_OPERATIONS = 2_000;
const MAX_PARAMETERS = 200;
/** OpenAPI gives them no meaning as parameters: they are said elsewhere. */
const IGNORED_HEADERS = new Set(['accept', 'content-type', 'authorization']);
const PRECONDITIONS = new Set(['if-match', 'if-unmodified-since']);

/** A path whose reference leads nowhere offers nothing; the others are not the worse for it. */
const pathItem = (document: SchemaObject, value: unknown): SchemaObject | undefined => {
  try {
    return followed(document, value);
  } catch {
    return undefined;
  }
};

/** Every operation of a document with a method that can be asked for. Throws an `Error` for too many. */
export const operationsIn = (document: SchemaObject): FoundOperation[] => {
  const paths = isSchemaObject(document.paths) ? document.paths : {};
  const found = Object.entries(paths).flatMap(([path, value]) => {
    const item = pathItem(document, value);
    if (item === undefined || !path.startsWith('/')) return [];
    return HttpMethod.options.flatMap((method) => {
      const operation = item[method.toLowerCase()];
      if (!isSchemaObject(operation)) return [];
      const id = typeof operation.operationId === 'string' ? operation.operationId : `${method} ${path}`;
      return [{ id, method, path, item, operation }];
    });
  });
  if (found.length > MAX_OPERATIONS) throw new Error(`more than ${MAX_OPERATIONS} operations`);
  return found;
};

type Reading = Omit<Conversion, 'direction'>;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Those of the operation stand before those of its path. */
const parametersOf = ({ document }: Reading, { item, operation }: FoundOperation): SchemaObject[] => {
  const listed = [...listOf(operation.parameters), ...listOf(item.parameters)];
  if (listed.length > MAX_PARAMETERS) throw new Error(`more than ${MAX_PARAMETERS} parameters`);
  const all = listed.map((one) => followed(document, one));
  const keyOf = ({ in: place, name }: SchemaObject) => `${String(place)} ${String(name)}`;
  return all.filter((one, at) => all.findIndex((other) => keyOf(other) === keyOf(one)) === at);
};

/** Why a parameter cannot be sent as it says; undefined when it can. */
const unsendable = ({ in: place, style, content, allowReserved, schema }: SchemaObject): string | undefined => {
  if (place === 'cookie') return 'cookies are not sent';
  if (content !== undefined || !isSchemaObject(schema)) return 'its form is given by a media type';
  if (allowReserved === true) return 'it may hold reserved characters';
  const usual = place === 'query' ? 'form' : 'simple';
  return style === undefined || style === usual ? undefined : `the style ${String(style).slice(0, 40)}`;
};

const isPlainList = (schema: unknown): boolean => isSchemaObject(schema) && schema.type === 'array';

const readParameter = (reading: Reading, parameter: SchemaObject) => {
  const { name, in: place, required, explode, schema, description, example } = parameter;
  const converted = convertSchema(schema, { ...reading, direction: 'request' });
  if (!isSchemaObject(converted)) throw new Error(`${String(name)}: says nothing about its value`);
  if (converted.type === 'object' || (place !== 'query' && isPlainList(converted)))
    throw new Error(`${String(name)}: only plain values, and lists in the query, can be sent outside of a body`);
  const text = plainText(description, 300);
  const examples = example === undefined || converted.examples !== undefined ? {} : { examples: [example] };
  return {
    name,
    in: place,
    required: required === true,
    ...(isPlainList(converted) ? { list: explode === false ? ('comma' as const) : ('repeat' as const) } : {}),
    schema: { ...converted, ...examples, ...(text === undefined ? {} : { description: text }) },
  };
};

const readParameters = (reading: Reading, found: FoundOperation) => {
  const parameters: ReturnType<typeof readParameter>[] = [];
  let precondition: object | undefined;
  for (const parameter of parametersOf(reading, found)) {
    const name = String(parameter.name);
    const header = parameter.in === 'header' ? name.toLowerCase() : undefined;
    if (header !== undefined && IGNORED_HEADERS.has(header)) continue;
    if (header === 'idempotency-key') {
      reading.note(`${name}: is sent only where key_header names it`);
      continue;
    }
    if (header !== undefined && PRECONDITIONS.has(header)) {
      precondition = { header, required: parameter.required === true };
      continue;
    }
    const why =
      unsendable(parameter) ??
      (header !== undefined && !RequestHeader.safeParse(header).success ? 'this header is not an argument' : undefined);
    if (why === undefined) parameters.push(readParameter(reading, parameter));
    else if (parameter.required === true) throw new Error(`the parameter ${name.slice(0, 80)}: ${why}`);
    else reading.note(`the parameter ${name.slice(0, 80)} is left out: ${why}`);
  }
  return { parameters, ...(precondition === undefined ? {} : { precondition }) };
};

const isJson = (type: string): boolean => /^application\/(?:[a-z0-9.+-]+\+)?json\b/i.test(type);

const jsonSchemaIn = ({ content }: SchemaObject): unknown => {
  const [, media] = Object.entries(isSchemaObject(content) ? content : {}).find(([type]) => isJson(type)) ?? [];
  return isSchemaObject(media) ? (media.schema ?? true) : undefined;
};

const readBody = (reading: Reading, { operation }: FoundOperation) => {
  if (operation.requestBody === undefined) return {};
  const body = followed(reading.document, operation.requestBody);
  const source = jsonSchemaIn(body);
  if (source === undefined) throw new Error('its body is not JSON');
  const schema = convertSchema(source, { ...reading, direction: 'request' });
  if (!isSchemaObject(schema)) throw new Error('its body says nothing about its content');
  return { body: { schema, required: body.required === true } };
};

const readAnswers = (reading: Reading, { operation }: FoundOperation) => {
  const responses = Object.entries(isSchemaObject(operation.responses) ? operation.responses : {});
  const good = responses.filter(([status]) => /^2\d\d$/.test(status));
  const success = good.map(([status]) => Number(status)).sort((a, b) => a - b);
  const schemas = good
    .map(([, response]) => jsonSchemaIn(followed(reading.document, response)))
    .filter((schema) => schema !== undefined)
    .map((schema) => convertSchema(schema, { ...reading, direction: 'response' }));
  const [only] = schemas;
  const isSame = schemas.every((schema) => JSON.stringify(schema) === JSON.stringify(only));
  if (!isSame) reading.note('its successes answer differently: the answer is not checked');
  return {
    ...(success.length === 0 ? {} : { success: success.slice(0, 10) }),
    ...(isSame && isSchemaObject(only) && schemas.length === good.length ? { response: only } : {}),
  };
};

const snake = (text: string): string =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+|_+$/g, '')
    .slice(0, 41);

/**
 * An operation of the document in the words of a declared one. What the document says of security, servers and risk is
 * not read: those are set by whoever declares the interface. Throws an `Error` for what cannot be expressed.
 */
export const readOperation = (reading: Reading, found: FoundOperation): Record<string, unknown> => {
  const { summary, description } = found.operation;
  const texts = [plainText(summary, 300), plainText(description, 1_500)].filter((text) => text !== undefined);
  const said = texts.join('\n');
  const asked = `${found.method} ${found.path}`;
  return {
    name: snake(found.id),
    method: found.method,
    path: found.path,
    description: said.length >= 20 ? said : `${said === '' ? 'The operation' : said}: ${asked} of the interface.`,
    ...readParameters(reading, found),
    ...readBody(reading, found),
    ...readAnswers(reading, found),
  };
};
