import { contractDigests } from '@toolfabric/catalogue';
import type { FabricEvent, RegistryRecord, TaskRecord } from '@toolfabric/contract';
import { asWidened, factsOf, WIDEST, widenTask } from '@toolfabric/governance';
import { noMetrics, silentLogger, systemClock } from '@toolfabric/kernel';
import { PolicyInput, questionAgain } from '@toolfabric/policy-cedar';
import { describe, expect, it, vi } from 'vitest';
import { PayloadLog } from './record-payloads.ts';
import { ADA } from './testing/sample-call.ts';
import { sampleContract } from './testing/sample-contract.ts';

const contract = sampleContract({ governance: { risk: 'workspace_write', claimless: false } });
const tool: RegistryRecord = { contract, state: 'published', ...contractDigests(contract) };

const payloadOf = async (stored: TaskRecord) => {
  const events: FabricEvent[] = [];
  const log = new PayloadLog({
    secret: Buffer.from('a secret of the installation, long enough'),
    events: { emit: (event) => void events.push(event), store: async () => {} },
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
    later: (work) => void setImmediate(work),
    contractOf: async () => contract,
  });
  const task = asWidened(stored);
  const args = { text: 'retry' };
  const facts = factsOf({ contract, args, actor: ADA, task, environment: 'development' });
  const decision = { policyVersion: 'p', rule: 'r', limits: { timeoutMs: 1, outputBytes: 1 } };
  const question = { actor: ADA, task, tool, args, facts };
  log.recordDecision({ callId: 'c-1', question, answer: { verdict: 'allow', decision } });
  await vi.waitFor(() => expect(events).toHaveLength(1));
  return events[0]?.payloads?.[0];
};

/** As many as a task may have, and as long as that many may be. */
const widest = (): { writable: string[]; hosts: string[] } => {
  const names = (field: keyof typeof WIDEST, end: string) => {
    const { most, bytes } = WIDEST[field];
    const length = Math.floor(bytes / most) - 10 - end.length;
    return Array.from(
      { length: most },
      (_, n) => `${`${n}-`.padEnd(field === 'hosts' ? Math.min(60, length) : length, 'x')}${end}`,
    );
  };
  return { writable: names('writable', '/**'), hosts: names('hosts', '.example') };
};

describe('PO-6: what a decision was made of', () => {
  it('is kept whole of a task that was widened as far as it goes, with the hosts that a person permitted', async () => {
    const { writable, hosts } = widest();
    let task: TaskRecord = {
      ...{ taskId: `t-${'b'.repeat(26)}`, actor: ADA, title: 'a task', state: 'open', createdAt: 1 },
      constraints: { writable: writable.slice(0, 10), forbiddenHosts: ['evil.example'] },
    };
    for (let at = 10; at < writable.length; at += 20)
      task = widenTask(task, { by: 'grace', at: 5, writable: writable.slice(at, at + 20) });
    for (let at = 0; at < hosts.length; at += 20)
      task = widenTask(task, { by: 'grace', at: 5, hosts: hosts.slice(at, at + 20) });
    const payload = await payloadOf(task);
    expect(payload).toMatchObject({ kind: 'policy_input', cut: false });
    const input = PolicyInput.parse(JSON.parse(payload?.text ?? ''));
    expect(input.task).toMatchObject({
      constraints: { writable, forbiddenHosts: ['evil.example'] },
      permittedHosts: hosts,
    });
    expect(questionAgain(input, [contract])?.task.constraints).toEqual({ writable, forbiddenHosts: ['evil.example'] });
  });

  it('can be read whatever a task may have today: bounds change, and a mark is longer than what it hides', async () => {
    const constraints = { writable: Array.from({ length: 60 }, (_, n) => `${n}${'x'.repeat(n === 0 ? 600 : 1)}/**`) };
    const task: TaskRecord = {
      ...{ taskId: `t-${'b'.repeat(26)}`, actor: ADA, title: 'a task', state: 'open', createdAt: 1 },
      constraints,
    };
    const input = PolicyInput.parse(JSON.parse((await payloadOf(task))?.text ?? ''));
    expect(input.task).toMatchObject({ constraints, permittedHosts: [] });
  });
});
