import { compileInput, loadBuiltinContracts } from '@toolfabric/catalogue';
import { effectOf } from '@toolfabric/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, makeFixture } from '../testing/driver-fixture.ts';
import { createTools } from './index.ts';

const contracts = loadBuiltinContracts().filter(({ execution }) => execution.adapter === 'cli');

describe('RG-1: tools and contracts of the cli worker', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await makeFixture();
  });
  afterAll(() => fixture.remove());
  const tools = () => createTools(fixture.driver);

  it('are the same list', () => {
    const handlers = tools().map(({ handler }) => handler);
    // A handler serves every version of its contract.
    expect(handlers.toSorted()).toEqual([...new Set(contracts.map(({ execution }) => execution.handler))].toSorted());
  });

  it.each(contracts.map((contract) => [contract.name, contract] as const))(
    '%s: effect, probe and examples agree',
    (_, contract) => {
      const tool = tools().find(({ handler }) => handler === contract.execution.handler);
      expect(tool?.effect).toBe(effectOf(contract.governance.risk));
      expect(tool?.probe !== undefined).toBe(contract.governance.reconcile !== undefined);
      const check = compileInput(contract);
      for (const example of contract.capability.examples) {
        expect(check(example.arguments)).toEqual([]);
        expect(tool?.args.safeParse(example.arguments).success).toBe(true);
      }
    },
  );

  it.each(contracts.map((contract) => [contract.name, contract] as const))(
    '%s: the tool takes exactly the fields of its contract, with the same defaults',
    (_, contract) => {
      const tool = tools().find(({ handler }) => handler === contract.execution.handler);
      const properties = (contract.input['properties'] ?? {}) as Record<string, { default?: unknown }>;
      const shape = (tool as unknown as { args: { shape: Record<string, unknown> } }).args.shape;
      expect(Object.keys(shape).toSorted()).toEqual(Object.keys(properties).toSorted());
      const [example] = contract.capability.examples;
      const parsed = tool?.args.parse(example?.arguments) as Record<string, unknown>;
      for (const [name, property] of Object.entries(properties)) {
        if (property.default !== undefined && !(name in (example?.arguments ?? {})))
          expect(parsed[name]).toBe(property.default);
      }
    },
  );
});
