import { describe, expect, it } from 'vitest';
import { maskSecrets } from './mask-secrets.ts';

const SECRET = 'abcabcabd-canary';
const STARS = '*'.repeat(SECRET.length);

const through = async (chunks: readonly (string | Buffer)[], secrets: readonly string[] = [SECRET]) => {
  const body = maskSecrets(secrets)?.body();
  if (body === undefined) throw new Error('nothing is masked');
  const out: Buffer[] = [];
  body.on('data', (chunk: Buffer) => out.push(chunk));
  for (const chunk of chunks) body.write(Buffer.from(chunk as string));
  body.end();
  await new Promise((resolve) => body.once('end', resolve));
  return Buffer.concat(out);
};

describe('PO-11: what a host answers to a secret', () => {
  it('has the secret covered, wherever it is cut', async () => {
    const text = `x abcabc ${SECRET}${SECRET} abcabcab`;
    const expected = `x abcabc ${STARS}${STARS} abcabcab`;
    for (let at = 0; at <= text.length; at += 1) {
      expect(String(await through([text.slice(0, at), text.slice(at)])), `cut at ${at}`).toBe(expected);
    }
    expect(String(await through([...text]))).toBe(expected);
  });

  it('else comes as it was, byte for byte, and at once but for what may begin a secret', async () => {
    const bytes = Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 31) & 255));
    expect((await through([bytes.subarray(0, 100), bytes.subarray(100)])).equals(bytes)).toBe(true);
    const body = maskSecrets([SECRET])?.body();
    body?.write('data: one\n\n');
    expect(String(body?.read())).toBe('data: one\n\n');
    body?.write('data: abca');
    expect(String(body?.read())).toBe('data: ');
  });

  it('covers each of its forms, in headers too', async () => {
    const forms = ['long-enough-secret', Buffer.from('user:long-enough-secret').toString('base64')];
    const mask = maskSecrets(forms);
    const headers = mask?.headers({ 'x-echo': `Basic ${forms[1]}`, 'set-cookie': [`a=${forms[0]}`, 'b=1'] });
    expect(headers).toEqual({ 'x-echo': `Basic ${'*'.repeat(32)}`, 'set-cookie': [`a=${'*'.repeat(18)}`, 'b=1'] });
    expect(String(await through([forms.join(' ')], forms))).toMatch(/^\*+ \*+$/);
  });

  it('covers it as JSON, an address and a page write it', async () => {
    const secret = 'a/b+"c"&d=<e>\'-canary';
    const html = 'a/b+&quot;c&quot;&amp;d=&lt;e&gt;&#39;-canary';
    const inAddress = encodeURIComponent(secret);
    const forms = [JSON.stringify(secret).slice(1, -1), 'a\\/b+\\"c\\"&d=<e>\'-canary', inAddress, html];
    const lower = inAddress.replace(/%../g, (code) => code.toLowerCase());
    for (const form of [...forms, lower]) {
      const masked = String(await through([form.slice(0, 9), form.slice(9)], [secret]));
      expect(masked, form).toBe('*'.repeat(form.length));
    }
  });

  it('leaves alone what is too short to be a secret', () => {
    expect(maskSecrets(['short'])).toBeUndefined();
    expect(maskSecrets([])).toBeUndefined();
  });
});
