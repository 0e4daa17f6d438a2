import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Issues } from './issues.ts';
import { Arm, type ArmedFaults, Settings } from './modes.ts';

const MAX_BODY = 256 * 1024;
const Comment = z.strictObject({ body: z.string().max(65_536), key: z.string().max(300).default('') });
const Change = z.strictObject({ state: z.literal('closed') });

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += (part as Buffer).length;
    if (size > MAX_BODY) throw new Error('too large');
    parts.push(part as Buffer);
  }
  return parts.length === 0 ? undefined : JSON.parse(Buffer.concat(parts).toString('utf8'));
};

const send = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
};

const limit = (response: ServerResponse): void => send(response, 429, { error: 'slow down' }, { 'retry-after': '1' });

type Answer = readonly [status: number, body: unknown];

/** One write, under whatever is armed. */
const write = async (faults: ArmedFaults, response: ServerResponse, act: () => Answer): Promise<void> => {
  const arm = faults.next();
  switch (arm?.mode) {
    case 'drop_request':
      return void response.destroy();
    case 'error_before':
      return send(response, 500, { error: 'internal' });
    case 'rate_limited':
      return limit(response);
    case 'delay_write':
      await sleep(arm.delayMs);
      return send(response, ...act());
    case 'duplicate':
      act();
      return send(response, ...act());
  }
  const answer = act();
  if (arm?.mode === 'drop_receipt') return void response.destroy();
  if (arm?.mode === 'error_after') return send(response, 500, { error: 'internal' });
  if (arm?.mode === 'delay') await sleep(arm.delayMs);
  if (arm?.mode === 'duplicate_answer') {
    const text = JSON.stringify(answer[1]);
    const whole = `HTTP/1.1 ${answer[0]} OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
    return void response.socket?.end(whole + whole);
  }
  send(response, ...answer);
};

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const onIssue = async (
  issues: Issues,
  faults: ArmedFaults,
  request: IncomingMessage,
  response: ServerResponse,
  { issue, rest, key }: { issue: number; rest: string; key: string | undefined },
): Promise<void> => {
  if (!issues.has(issue)) return send(response, 404, { error: 'there is no such issue' });
  const now = Date.now();
  const verb = `${request.method} ${rest}`;
  if (request.method === 'GET' && faults.limitsRead()) return limit(response);
  if (verb === 'GET ') return send(response, 200, issues.read(issue, now), { etag: issues.etag(issue) });
  if (verb === 'GET /comments') return send(response, 200, issues.search(issue, key, now));
  if (verb === 'PATCH ') {
    Change.parse(await readBody(request));
    const expected = header(request, 'if-match');
    const etag = issues.etag(issue);
    if (expected !== undefined && expected !== etag)
      return send(response, 412, { error: 'it stands at another version' }, { etag });
    return write(faults, response, () => {
      issues.close(issue, Date.now());
      return [200, issues.read(issue, Date.now())];
    });
  }
  if (verb !== 'POST /comments') return send(response, 405, { error: 'not allowed' });
  const sent = Comment.parse(await readBody(request));
  if (issues.isClosed(issue)) return send(response, 422, { error: 'the issue is closed' });
  const idempotencyKey = header(request, 'idempotency-key');
  return write(faults, response, () => {
    const { comment, isNew } = issues.comment({ issue, ...sent, idempotencyKey }, Date.now());
    return [isNew ? 201 : 200, comment];
  });
};

/**
 * `GET|PATCH /issues/<n>` (with `ETag` and `If-Match`), `GET|POST /issues/<n>/comments` (`?key=` searches); `POST /arm`,
 * `POST /disarm` and `POST /settings` belong to the test.
 */
export const answerRequest = async (
  issues: Issues,
  faults: ArmedFaults,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const url = new URL(request.url ?? '/', 'http://tracker.invalid');
  if (url.pathname === '/arm') {
    faults.add(Arm.parse(await readBody(request)));
    return send(response, 200, {});
  }
  if (url.pathname === '/disarm') {
    faults.clear();
    return send(response, 200, {});
  }
  if (url.pathname === '/settings') {
    const { dedupe, searchLagMs, accepts } = issues;
    Object.assign(issues, { dedupe, searchLagMs, accepts, ...Settings.parse(await readBody(request)) });
    return send(response, 200, {});
  }
  issues.log.append({ event: 'request', method: request.method ?? '', path: url.pathname, at: Date.now() });
  if (issues.accepts !== '' && header(request, 'authorization') !== issues.accepts)
    return send(response, 401, { error: 'who are you' });
  const match = /^\/issues\/(\d{1,6})(\/comments)?$/.exec(url.pathname);
  if (!match) return send(response, 404, { error: 'there is nothing here' });
  const key = url.searchParams.get('key') ?? undefined;
  return onIssue(issues, faults, request, response, { issue: Number(match[1]), rest: match[2] ?? '', key });
};
