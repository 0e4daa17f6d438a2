import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { contractDigests } from '@toolfabric/catalogue';
import type { FabricEvent, RegistryRecord } from '@toolfabric/contract';
import { factsOf } from '@toolfabric/governance';
import { FabricError, noTelemetry, silentLogger, systemClock } from '@toolfabric/kernel';
import type { PolicyQuestion } from '@toolfabric/ports';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DecidedCall } from '../record-payloads.ts';
import type { RouterServices } from '../router-services.ts';
import { ADA } from '../testing/sample-call.ts';
import { sampleContract } from '../testing/sample-contract.ts';
import { decideCall } from './decide-call.ts';
import { LivePolicy } from './live-policy.ts';

const contract = sampleContract({ governance: { risk: 'workspace_write', claimless: false } });
const tool: RegistryRecord = { contract, state: 'published', ...contractDigests(contract) };
const task = { taskId: `t-${'b'.repeat(26)}`, actor: ADA, title: 'a task', state: 'open' as const, createdAt: 1 };
const args = { text: 'retry' };
const question: PolicyQuestion = {
  ...{ actor: ADA, task, tool, args },
  facts: factsOf({ contract, args, actor: ADA, task, environment: 'development' }),
};

let folder: string;
let events: FabricEvent[];
let recorded: DecidedCall[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'policies-'));
  events = [];
  recorded = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

const open = (): LivePolicy => {
  const log = { emit: (event: FabricEvent) => void events.push(event), store: async () => {} };
  const policy = new LivePolicy({
    ...{ folder, environment: 'development', log: silentLogger, metrics: noTelemetry.metrics, clock: systemClock },
    events: log,
    contracts: () => [contract],
  });
  policy.open();
  return policy;
};

const decide = async (policy: LivePolicy) => {
  const ctx = {
    telemetry: noTelemetry,
    clock: systemClock,
    recordDecision: (decided: DecidedCall) => void recorded.push(decided),
    ports: { events: { emit: (event: FabricEvent) => void events.push(event) } },
  };
  const services = { ctx, policy } as unknown as RouterServices;
  try {
    return decideCall(services, question, 'c-1');
  } catch (error) {
    if (error instanceof FabricError) return error;
    throw error;
  } finally {
    await new Promise((resolve) => setImmediate(resolve));
  }
};

/** Two looks, as files that stand still need them. */
const reread = (policy: LivePolicy): boolean => [policy.refresh(), policy.refresh()].includes(true);

const FORBID = '@id("nothing")\nforbid (principal, action == Action::"notes.find", resource);\n';
const shadows = () => events.filter(({ type }) => type === 'policy.shadow');

describe('policies that are only tried', () => {
  it('PO-6: act never; where they differ it is told, with both rules', async () => {
    write('shadow/tenants/acme/notes.cedar', FORBID);
    const policy = open();
    expect(await decide(policy)).toMatchObject({ verdict: 'allow' });
    expect(shadows()).toEqual([
      expect.objectContaining({
        callId: 'c-1',
        tenant: 'acme',
        attributes: expect.objectContaining({
          ...{ verdict: 'allow', rule: 'default.allow.workspace_write', policyVersion: policy.version },
          ...{ shadowVerdict: 'deny', shadowRule: 'tenant.acme.nothing' },
        }),
      }),
    ]);
    expect(JSON.stringify(shadows())).not.toContain('retry');
  });

  it('PO-6: are not told of where they say the same', async () => {
    write('tenants/acme/notes.cedar', FORBID);
    write('shadow/tenants/acme/notes.cedar', FORBID);
    expect(await decide(open())).toMatchObject({ type: 'denied_by_policy' });
    expect(shadows()).toEqual([]);
  });
});

describe('a decision', () => {
  it('PO-6: is kept with all that it was made of, refused ones too', async () => {
    write('tenants/acme/notes.cedar', FORBID);
    await decide(open());
    expect(recorded).toEqual([
      { callId: 'c-1', question, answer: expect.objectContaining({ verdict: 'deny', rule: 'tenant.acme.nothing' }) },
    ]);
  });

  it('of an engine that cannot decide is an outage of the policy, not a rule', async () => {
    write('tenants/acme/notes.cedar', 'permit (principal, action, resource) when { context.nothing };');
    const policy = open();
    expect(await decide(policy)).toMatchObject({ type: 'policy_unavailable' });
    expect(policy.couldAllow(ADA, tool)).toBe(false);
    expect(policy.decide({ ...question, actor: { ...ADA, tenant: 'other' } })).toMatchObject({
      rule: 'base.tenant_wall',
    });
  });
});

describe('the files of a policy', () => {
  it('PO-6: are read again when they change; what does not pass leaves what there was', () => {
    write('tenants/acme/notes.cedar', FORBID);
    const policy = open();
    const { version } = policy;
    expect(reread(policy)).toBe(false);
    write('tenants/acme/notes.cedar', `${FORBID}permit (principal, action, resource) when { context.nothing };`);
    expect(reread(policy)).toBe(false);
    expect(policy.version).toBe(version);
    expect(policy.decide(question)).toMatchObject({ rule: 'tenant.acme.nothing' });
    write('default.cedar', 'broken');
    expect(reread(policy)).toBe(false);
    expect(policy.version).toBe(version);
    rmSync(join(folder, 'default.cedar'));
    rmSync(join(folder, 'tenants'), { recursive: true });
    expect(reread(policy)).toBe(true);
    expect(policy.decide(question).verdict).toBe('allow');
    expect(events.filter(({ type }) => type === 'policy.loaded').map(({ tenant }) => tenant)).toContain('acme');
  });

  it('PO-6: are not used while they are being written: half of them may forbid less', () => {
    write('tenants/acme/notes.cedar', FORBID);
    const policy = open();
    rmSync(join(folder, 'tenants'), { recursive: true });
    expect(policy.refresh()).toBe(false);
    write('tenants/acme/notes.cedar', '// to be continued\n');
    expect(policy.refresh()).toBe(false);
    expect(policy.decide(question)).toMatchObject({ rule: 'tenant.acme.nothing' });
    write('tenants/acme/notes.cedar', `// all of it\n${FORBID}`);
    expect(reread(policy)).toBe(true);
    expect(policy.decide(question)).toMatchObject({ rule: 'tenant.acme.nothing' });
  });

  it('a tenant may want to see what it may never call', () => {
    write('tenants/acme/settings.yaml', 'show_denied: true\n');
    const policy = open();
    expect([policy.showsDenied('acme'), policy.showsDenied('other')]).toEqual([true, false]);
  });
});
