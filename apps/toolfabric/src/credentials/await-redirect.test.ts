import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { listenForRedirect, type RedirectListener } from './await-redirect.ts';

const open: RedirectListener[] = [];
afterEach(() => {
  for (const listener of open.splice(0)) listener.close();
});
const listening = async (port = 0) => {
  const listener = await listenForRedirect(port);
  open.push(listener);
  return listener;
};
const never = new AbortController().signal;
const statusOf = async (url: string, init?: RequestInit) => (await fetch(url, init)).status;

describe('the address that a login comes back to', () => {
  it('takes the answer of its own login and no other', async () => {
    const { redirectUri, wait } = await listening();
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(await statusOf(`${redirectUri}?code=c&state=mine`)).toBe(404);
    const redirected = wait('mine', never);
    expect(await statusOf(`${redirectUri}?code=c&state=other`)).toBe(404);
    expect(await statusOf(`${redirectUri}?code=c`)).toBe(404);
    expect(await statusOf(`${redirectUri}/more?code=c&state=mine`)).toBe(404);
    expect(await statusOf(`${redirectUri}?code=c&state=mine`, { method: 'POST' })).toBe(404);
    expect(await statusOf(`${redirectUri}?code=${'c'.repeat(9_000)}&state=mine`)).toBe(404);
    const answer = await fetch(`${redirectUri}?code=c%2F1&state=mine&iss=https%3A%2F%2Flogin.example`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain('c/1');
    expect((await redirected).url).toBe(`${redirectUri}?code=c%2F1&state=mine&iss=https%3A%2F%2Flogin.example`);
  });

  it('is not reached under another name, which another page could have been given', async () => {
    const { redirectUri, wait } = await listening();
    void wait('mine', never);
    const { port } = new URL(redirectUri);
    const status = await new Promise((resolve, reject) => {
      const headers = { host: `rebound.example:${port}` };
      request({ host: '127.0.0.1', port, path: '/callback?code=c&state=mine', headers }, (response) =>
        resolve(response.statusCode),
      )
        .on('error', reject)
        .end();
    });
    expect(status).toBe(404);
  });

  it('is waited for until the signal', async () => {
    const { wait } = await listening();
    const stop = new AbortController();
    const waiting = wait('mine', stop.signal);
    stop.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    await expect(wait('mine', stop.signal)).rejects.toThrow('given up');
  });

  it('says when its port is taken', async () => {
    const { redirectUri } = await listening();
    await expect(listening(Number(new URL(redirectUri).port))).rejects.toThrow('EADDRINUSE');
  });
});
