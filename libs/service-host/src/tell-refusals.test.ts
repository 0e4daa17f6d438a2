import type { Logger, Metrics } from '@toolfabric/kernel';
import { expect, it } from 'vitest';
import { tellRefusals } from './tell-refusals.ts';

it('OP-6: every refusal is counted, and one line a minute is written for each kind of message', () => {
  let now = 0;
  const counted: unknown[] = [];
  const lines: unknown[] = [];
  const metrics: Metrics = {
    count: (name, labels) => counted.push([name, labels]),
    observe: () => {},
    gauge: () => {},
  };
  const line = (event: string, fields?: object) => void lines.push([event, fields]);
  const log: Logger = { info: line, warn: line, error: line };
  const tell = tellRefusals(metrics, log, () => now);
  for (const hop of ['result', 'result', 'event']) tell(hop);
  now = 59_999;
  tell('result');
  now = 60_000;
  tell('result');
  expect(counted).toHaveLength(5);
  expect(counted[0]).toEqual(['toolfabric_hops_refused_total', { hop: 'result' }]);
  expect(lines).toEqual([
    ['hop.refused', { hop: 'result' }],
    ['hop.refused', { hop: 'event' }],
    ['hop.refused', { hop: 'result' }],
  ]);
});
