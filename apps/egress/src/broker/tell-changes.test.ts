import type { FabricEvent } from '@toolfabric/contract';
import { FabricEvent as Schema } from '@toolfabric/contract';
import { systemClock } from '@toolfabric/kernel';
import { expect, it } from 'vitest';
import { ANN } from '../testing/open-broker.ts';
import { keptOf } from '../testing/open-oauth.ts';
import { tellChanges } from './tell-changes.ts';

it('TR-1: a change of a credential is an event: what, whose, by whom', () => {
  const told: FabricEvent[] = [];
  const events = { emit: (event: FabricEvent) => void told.push(Schema.parse(event)) };
  const tell = tellChanges({ events, clock: systemClock, incarnation: 'egress-1' });
  const { record } = keptOf('https://login.example.com');
  tell({ what: 'added', record, by: ANN });
  tell({ what: 'needs_login', record });
  expect(told[0]).toMatchObject({
    type: 'credential.changed',
    tenant: 'acme',
    actor: { tenant: 'acme', user: 'ann', agent: 'coder' },
    attributes: { what: 'added', handle: 'user:tracker', account: 'ann at the tracker', version: 1, user: 'ann' },
  });
  expect(told[0]?.actor).not.toHaveProperty('tokenId');
  expect(told[1]?.actor).toBeUndefined();
  expect(new Set(told.map(({ id }) => id)).size).toBe(2);
});
