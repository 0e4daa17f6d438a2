import { EventEmitter } from 'node:events';
import { Metadata, type ServerUnaryCall } from '@grpc/grpc-js';
import { noTelemetry, silentLogger, systemClock } from '@toolfabric/kernel';
import { expect, it } from 'vitest';
import { FrontDoor } from './front-door.ts';
import { RequestsPerToken } from './requests-per-token.ts';
import { issueToken, TokenBook } from './tokens.ts';

const { token, entry } = issueToken({ id: 'a', tenant: 'acme', user: 'alice', agent: 'coder' });

/** A request as the server hands it over, on a connection that was open before the stop. */
const request = (): ServerUnaryCall<object, string> => {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  const surface = { metadata, request: {}, cancelled: false, getDeadline: () => Infinity, getPath: () => '/x' };
  return Object.assign(new EventEmitter(), surface) as never;
};

it('D1: a request that slips in after the stop is unavailable and starts nothing', async () => {
  const tokens = new TokenBook();
  tokens.replace([entry]);
  const requests = new RequestsPerToken(1);
  const door = new FrontDoor({
    identities: { tokens, now: systemClock.now },
    requests,
    clock: systemClock,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  let begun = 0;
  const verb = door.unary<object, string>(async () => {
    begun += 1;
    return 'done';
  });
  const ask = () =>
    new Promise((resolve) => verb(request(), (error, answer) => resolve(error === null ? answer : error)));
  expect(await ask()).toBe('done');
  door.stop();
  expect(await ask()).toMatchObject({ code: 14 });
  expect(begun).toBe(1);
});
