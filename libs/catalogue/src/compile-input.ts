import type { FieldError, ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { assertedFormats } from './asserted-formats.ts';
import { toFieldErrors } from './field-errors.ts';
import { inspectSchema, type SchemaRole } from './inspect-schema.ts';
import { compileLinearPattern } from './linear-pattern.ts';

/** What does not fit in some arguments; empty when they fit. Never throws, whatever it is given. */
export type InputCheck = (args: unknown) => FieldError[];

/** Ajv wants to know how the engine would be imported by generated files, which are never written. */
const linearEngine = Object.assign((pattern: string) => compileLinearPattern(pattern), {
  code: 'compileLinearPattern',
});

const OPTIONS = {
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  verbose: true,
  messages: false,
  ownProperties: true,
  logger: false,
  code: { regExp: linearEngine as never },
} as const;
/** Values in arguments whose errors are all listed; with more of them the first error must do. */
const MAX_VALUES = 500;

let dialect: Ajv2020 | undefined;

/** Whether the schema itself is one of JSON Schema 2020-12. */
const checkDialect = (schema: Record<string, unknown>): void => {
  dialect ??= new Ajv2020({ ...OPTIONS, formats: assertedFormats() });
  if (dialect.validateSchema(schema) === true) return;
  const [error] = dialect.errors ?? [];
  throw new Error(`${error?.instancePath || '/'} is not valid (${error?.keyword ?? 'schema'})`);
};

type Validate = (args: unknown) => readonly ErrorObject[];

/** A validator of its own for each schema: it keeps whatever it ever compiled, and goes with it. */
const compileSchema = (schema: Record<string, unknown>, allErrors: boolean): Validate => {
  const options = { ...OPTIONS, allErrors, formats: assertedFormats(), meta: false, validateSchema: false };
  const validate = new Ajv2020(options).compile(schema);
  return (args) => (validate(args) ? [] : (validate.errors ?? []));
};

/** Whether there are few values in it, at any depth; looks at no more than the limit. */
const isSmall = (value: unknown): boolean => {
  const left = [value];
  let seen = 0;
  while (left.length > 0) {
    const item = left.pop();
    seen += 1;
    if (typeof item !== 'object' || item === null) continue;
    const inner = Object.values(item);
    if (seen + left.length + inner.length > MAX_VALUES) return false;
    left.push(...inner);
  }
  return true;
};

const refuse = (role: SchemaRole, problems: readonly string[], cause?: unknown): FabricError =>
  new FabricError('contract_invalid', `the ${role} schema is refused: ${problems.join('; ')}`, { cause });

/**
 * Compiles a schema of a contract (JSON Schema 2020-12, strict, formats asserted, patterns matched in linear time). Costs milliseconds: the caller keeps the check by the digest of the contract. Throws `contract_invalid`.
 *
 * A check stops at the first error. Only small arguments are then looked through for all of them, so that hostile ones
 * cannot make errors by the million.
 */
export const compileCheck = (schema: Record<string, unknown>, role: SchemaRole): InputCheck => {
  const problems = inspectSchema(schema, role);
  if (problems.length > 0) throw refuse(role, problems);
  let first: Validate;
  try {
    checkDialect(schema);
    first = compileSchema(schema, false);
  } catch (error) {
    throw refuse(role, [error instanceof Error ? error.message.slice(0, 300) : 'it cannot be compiled'], error);
  }
  let all: Validate | undefined;
  return (args) => {
    const errors = first(args);
    if (errors.length === 0) return [];
    if (!isSmall(args)) return toFieldErrors(errors);
    all ??= compileSchema(schema, true);
    return toFieldErrors(all(args));
  };
};

export const compileInput = ({ input }: Pick<ToolContract, 'input'>): InputCheck => compileCheck(input, 'input');
