import { compileInput, loadBuiltinContracts } from '@toolfabric/catalogue';
import { effectOf } from '@toolfabric/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { openDriver } from '../testing/web-fixture.ts';
import { createTools } from './index.ts';

const contracts = loadBuiltinContracts().filter(({ execution }) => execution.adapter === 'web');
const driver = openDriver();
const tools = createTools(driver);
const toolOf = (handler: string) => tools.find((tool) => tool.handler === handler);
afterAll(() => driver.close());

describe('RG-1: tools and contracts of the web worker', () => {
  it.each(contracts.map((contract) => [contract.name, contract] as const))(
    '%s: handler, effect and examples agree',
    (_, contract) => {
      const tool = toolOf(contract.execution.handler);
      expect(tool?.effect).toBe(effectOf(contract.governance.risk));
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
      const tool = toolOf(contract.execution.handler);
      const properties = (contract.input['properties'] ?? {}) as Record<string, { default?: unknown }>;
      const shape = (tool as unknown as { args: { shape: Record<string, unknown> } }).args.shape;
      expect(Object.keys(shape).toSorted()).toEqual(Object.keys(properties).toSorted());
      const [example] = contract.capability.examples;
      const parsed = tool?.args.parse(example?.arguments) as Record<string, unknown>;
      for (const [name, property] of Object.entries(properties)) {
        if (property.default !== undefined && !(name in (example?.arguments ?? {})))
          expect(parsed[name]).toEqual(property.default);
      }
    },
  );

  it('url.fetch goes where its address says, and only reads there', () => {
    const fetching = contracts.find(({ name }) => name === 'url.fetch');
    expect(fetching).toMatchObject({
      execution: { network: 'permit', egress: { rules: [], from_arguments: { methods: ['GET', 'HEAD'] } } },
      governance: { risk: 'read', hosts: ['/url'] },
    });
    expect(fetching?.execution.egress?.from_arguments).not.toHaveProperty('addresses');
  });
});
