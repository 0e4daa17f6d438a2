import { RpcFailure } from '@toolfabric/contract';
import type { TraceStore } from '@toolfabric/trace-clickhouse';
import { describe, expect, it } from 'vitest';
import { answerQuestion } from './answer-question.ts';

/** Its rows cannot be read. */
const broken: Pick<TraceStore, 'status' | 'listCalls'> = {
  status: { type: 'clickhouse', state: 'ready', reason: '' },
  listCalls: async () => JSON.parse('{"secret'),
};
const ask = async (body: string) =>
  RpcFailure.parse(JSON.parse(await answerQuestion(broken as TraceStore, 'listCalls', body))).error;
const QUESTION = JSON.stringify({ actor: { tenant: 'acme', user: 'ada', agent: 'coder' }, limit: 1 });

describe('a question', () => {
  it('RT-8: that is no JSON is a bad one', async () => {
    expect(await ask('{"actor"')).toMatchObject({ type: 'invalid_request', layer: 'protocol' });
  });

  it('RT-8: over rows that cannot be read is not: that is a fault of the store, told without its words', async () => {
    const error = await ask(QUESTION);
    expect(error.type).toBe('internal');
    expect(JSON.stringify(error)).not.toContain('secret');
  });
});
