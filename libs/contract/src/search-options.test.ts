import { describe, expect, it } from 'vitest';
import { SearchOptions } from './search-options.ts';

describe('what a contract may say of providers', () => {
  it('the folder alone, when it says nothing', () => {
    expect(SearchOptions.parse({}).providers).toEqual([{ kind: 'local', timeout_ms: 8_000 }]);
  });

  it.each([
    { providers: [] },
    { providers: [{ kind: 'other' }] },
    { providers: [{ kind: 'searxng' }] },
    { providers: [{ kind: 'searxng', base: 'ftp://x.example' }] },
    { providers: [{ kind: 'searxng', base: 'https://ann:pw@x.example' }] },
    { providers: [{ kind: 'searxng', base: 'https://x.example/?key=1' }] },
    { providers: [{ kind: 'local' }, { kind: 'local' }] },
    { providers: [{ kind: 'local', timeout_ms: 60_000 }] },
    { groups: { a: ['https://x.example'] } },
    { key: 'secret' },
  ])('not %j', (options) => expect(SearchOptions.safeParse(options).success).toBe(false));
});
