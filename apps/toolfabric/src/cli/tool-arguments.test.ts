import { describe, expect, it } from 'vitest';
import { argumentsFromPairs, argumentText, objectFromJson } from './tool-arguments.ts';

const SCHEMA = {
  properties: {
    path: { type: 'string' },
    line: { type: 'integer' },
    all: { type: 'boolean' },
    list: { type: 'array' },
    either: { type: ['string', 'integer'] },
  },
};

describe('argumentsFromPairs', () => {
  it('takes a value as the schema of the tool has it', () => {
    const pairs = ['path=404', 'line=3', 'all=true', 'list=[1,2]', 'either=7', 'other=5'];
    expect(argumentsFromPairs(pairs, SCHEMA)).toEqual({
      path: '404',
      line: 3,
      all: true,
      list: [1, 2],
      either: '7',
      other: '5',
    });
  });

  it('leaves a value that does not fit to the fabric, which says what is wrong with it', () => {
    expect(argumentsFromPairs(['line=three'], SCHEMA)).toEqual({ line: 'three' });
  });

  it('takes := as JSON in any case, and the first = as the end of the key', () => {
    expect(argumentsFromPairs(['path:={"a":1}', 'other=a=b', 'x='], SCHEMA)).toEqual({
      path: { a: 1 },
      other: 'a=b',
      x: '',
    });
  });

  it.each([
    ['path', 'key=value'],
    ['=x', 'key=value'],
    ['path:=nope', 'not JSON'],
  ])('refuses %s', (pair, why) => {
    expect(() => argumentsFromPairs([pair], SCHEMA)).toThrow(why);
  });

  it('refuses a key that is given twice', () => {
    expect(() => argumentsFromPairs(['path=a', 'path:=1'], SCHEMA)).toThrow('given twice');
  });

  it('knows no schema, and no field of a prototype', () => {
    expect(argumentsFromPairs(['toString=1'], SCHEMA)).toEqual({ toString: '1' });
    expect(argumentsFromPairs(['line=1'], null)).toEqual({ line: '1' });
    expect(Object.getPrototypeOf(argumentsFromPairs(['__proto__=1'], SCHEMA))).toBe(Object.prototype);
  });
});

describe('arguments as one JSON object', () => {
  it('come from the line or from a file', () => {
    expect(objectFromJson(argumentText('{"a":1}'))).toEqual({ a: 1 });
    expect(() => argumentText('@/nowhere/at/all')).toThrow('/nowhere/at/all');
  });

  it.each(['[]', 'null', '1', '"x"', '{'])('are refused when they are %s', (text) => {
    expect(() => objectFromJson(text)).toThrow('must be a JSON object');
  });
});
