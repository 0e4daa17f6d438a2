import { type Envelope, WORK_TYPE, type WorkBody } from '@toolfabric/contract';
import { createSigner, generateSigningKey } from '@toolfabric/kernel';
import type { TestNats } from '@toolfabric/testkit';

type Sign = (body: string, signing: TestNats['signing']) => Envelope;

/** Work that no worker may take, though it lies where work lies. */
export const FORGERIES: readonly (readonly [string, Sign])[] = [
  [
    'that nobody of this installation signed',
    (body) => createSigner('test-router', generateSigningKey('x', ['router']).privateKey).sign(WORK_TYPE, body),
  ],
  [
    'whose decision is of another time',
    (body, { kid, privateKey }) => {
      const old = { ...(JSON.parse(body) as WorkBody), expires: Date.now() - 300_000 };
      return createSigner(kid, privateKey).sign(WORK_TYPE, JSON.stringify(old));
    },
  ],
  [
    'whose arguments are not those that were decided about',
    (body, { kid, privateKey }) => {
      const envelope = createSigner(kid, privateKey).sign(WORK_TYPE, body);
      return { ...envelope, body: envelope.body.replace('forged', 'other-') };
    },
  ],
];
