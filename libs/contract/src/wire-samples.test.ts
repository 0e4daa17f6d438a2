import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as contract from './index.ts';
import { RPC_SAMPLES } from './rpc-samples.ts';
import { WIRE_SAMPLES } from './wire-samples.ts';

const SCHEMAS = new Map(
  Object.entries(contract).flatMap(([name, value]): [string, z.ZodType][] =>
    value instanceof z.ZodType ? [[name, value]] : [],
  ),
);
const VERBS = Object.entries(contract.RPC).flatMap(([verb, { request, reply }]): [string, z.ZodType, unknown][] => [
  [`rpc ${verb} request`, request, RPC_SAMPLES[verb]?.request],
  [`rpc ${verb} reply`, reply, RPC_SAMPLES[verb]?.reply],
]);
const CASES: [string, z.ZodType, unknown][] = [
  ...WIRE_SAMPLES.map(([name, variant, value]): [string, z.ZodType, unknown] => [
    `${name} ${variant}`,
    SCHEMAS.get(name) as z.ZodType,
    value,
  ]),
  ...VERBS,
];

const overWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('every schema', () => {
  it('has a sample', () => {
    const sampled = new Set<string>(WIRE_SAMPLES.map(([name]) => name));
    expect([...SCHEMAS.keys()].filter((name) => !sampled.has(name))).toEqual([]);
    expect(Object.keys(RPC_SAMPLES).sort()).toEqual(Object.keys(contract.RPC).sort());
  });

  it.each(CASES)('%s survives the wire: parsed, written, parsed again', (_, schema, value) => {
    const parsed = schema.parse(overWire(value));
    expect(schema.parse(overWire(parsed))).toEqual(parsed);
    expect(parsed).toEqual(typeof value === 'object' ? expect.objectContaining(overWire(value) as object) : value);
  });

  it.each(CASES.filter(([, schema]) => schema instanceof z.ZodObject))(
    '%s refuses a missing and an unknown field',
    (_, schema, value) => {
      const { shape } = schema as z.ZodObject;
      expect(schema.safeParse({ ...(value as object), surprise: 1 }).success).toBe(false);
      for (const [key, field] of Object.entries(shape)) {
        const { [key]: removed, ...rest } = value as Record<string, unknown>;
        expect(schema.safeParse(rest).success).toBe((field as z.ZodType).safeParse(undefined).success);
        expect(removed === undefined || schema.safeParse({ ...rest, [key]: Symbol('foreign') }).success).toBe(
          removed === undefined,
        );
      }
    },
  );
});

/** Every object schema below a schema, with the path to it. */
const objectsIn = (schema: unknown, path: string): { path: string; schema: z.ZodObject }[] => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return objectsIn(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return objectsIn(schema.element, `${path}[]`);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option, i) => objectsIn(option, `${path}|${i}`));
  if (!(schema instanceof z.ZodObject)) return [];
  const fields = Object.entries(schema.shape).flatMap(([key, field]) => objectsIn(field, `${path}.${key}`));
  return [{ path, schema }, ...fields];
};

describe('nothing crosses a border unseen', () => {
  const roots = [...SCHEMAS, ...VERBS.map(([name, schema]): [string, z.ZodType] => [name, schema])];
  const objects = roots.flatMap(([name, schema]) => objectsIn(schema, name));

  it('every object on the wire refuses unknown fields, at every depth', () => {
    expect(objects.length).toBeGreaterThan(60);
    const open = objects.filter(({ schema }) => !(schema.def.catchall instanceof z.ZodNever));
    expect(open.map(({ path }) => path)).toEqual([]);
  });
});

describe('names that become part of a subject', () => {
  it.each(['', 'A', 'a.b', 'a*', 'a>', 'a b', '-a', 'a\n', 'ä', 'a'.repeat(64), '$sys', 'a\u0000'])(
    '%j is no token',
    (name) => expect(contract.Token.safeParse(name).success).toBe(false),
  );

  it.each([
    '',
    '2969',
    '2969-ABC',
    `2969-${'i'.repeat(26)}`,
    `29-${'0'.repeat(26)}`,
    `2969-${'0'.repeat(26)}.r`,
    `2969-${'0'.repeat(26)}\n`,
  ])('%j is no call id', (id) => expect(contract.CallId.safeParse(id).success).toBe(false));

  it.each(['', 'a', 'a.', '.a', 'a..b', 'A.b', 'a.b@1.0.0', 'a-b.c', '__proto__.x', `a.${'b'.repeat(80)}`, 'a.b\n'])(
    '%j is no tool name',
    (name) => expect(contract.ToolName.safeParse(name).success).toBe(false),
  );

  it.each(['', '1', '1.0', '1.0.0-beta', 'v1.0.0', '1.0.0.0', '123456.0.0', '1.0.0\n'])('%j is no version', (version) =>
    expect(contract.ToolVersion.safeParse(version).success).toBe(false),
  );
});

describe('the error table', () => {
  it.each(Object.entries(contract.ERROR_TABLE))(
    '%s says what happened and what to do, within its bounds',
    (type, row) => {
      expect(type).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(contract.Layer.safeParse(row.layer).success).toBe(true);
      expect(row.meaning).toMatch(/^[A-Z].*\.$/);
      expect(row.hint).toMatch(/^[A-Z].*\.$/);
      const sent = { type, layer: row.layer, message: row.meaning, retryable: row.retryable, hint: row.hint };
      expect(contract.ToolError.safeParse(sent).success).toBe(true);
    },
  );
});

describe('effect', () => {
  it.each([
    ['read', 'none'],
    ['workspace_write', 'workspace'],
    ['external_write', 'outside'],
    ['irreversible', 'outside'],
    ['privileged', 'outside'],
  ] as const)('RG-1: %s has effect %s', (risk, effect) => expect(contract.effectOf(risk)).toBe(effect));
});
