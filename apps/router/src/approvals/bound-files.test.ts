import { describe, expect, it } from 'vitest';
import { checkMessage } from '../check-call.ts';
import type { RouterServices } from '../router-services.ts';
import { sampleCall } from '../testing/sample-call.ts';
import { sampleContract } from '../testing/sample-contract.ts';
import { boundFiles } from './bound-files.ts';

/** Nothing of it may be needed where a call is refused by its arguments alone. */
const NOTHING = {} as RouterServices;
const contract = sampleContract({ governance: { executes: ['/files'] } });
const paths = (count: number, length = 20): string[] =>
  Array.from({ length: count }, (_, n) => `${String(n).padStart(3, '0')}${'x'.repeat(length)}`);

describe('files that a yes is to be bound to', () => {
  it('are twenty at most, counted once each', async () => {
    const many = sampleCall({ args: { files: paths(21) } });
    await expect(boundFiles(NOTHING, contract, many)).rejects.toMatchObject({ type: 'too_large' });
    const same = sampleCall({ args: { files: [...paths(20), ...paths(20)] } });
    // Goes on to the next question: whether there is a workspace.
    await expect(boundFiles(NOTHING, contract, same)).rejects.toMatchObject({ type: 'invalid_arguments' });
  });

  it('fit into the work message together with the arguments that name them', () => {
    const ask = (count: number) => {
      const files = paths(count, 1_500);
      const bound = files.map((path) => ({ path, sha256: 'a'.repeat(64) }));
      return () => checkMessage(sampleCall({ args: { files } }), bound);
    };
    expect(ask(10)).not.toThrow();
    expect(ask(20)).toThrow(expect.objectContaining({ type: 'too_large' }));
  });
});
