import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { downloadName } from './http/artifact-headers.ts';
import { callPermit, idOf, readPermit, startUnderTest, type UnderTest } from './testing/artifacts-under-test.ts';

let under: UnderTest;
beforeAll(async () => {
  under = await startUnderTest();
});
afterAll(() => under?.stop());

const download = async (name: string, mediaType = 'text/html') => {
  const stored = await under.put(callPermit(), name, '<script>alert(1)</script>', { 'content-type': mediaType });
  expect(stored.status).toBe(200);
  const id = idOf(callPermit(), name);
  return under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
};

describe('hostile names and types', () => {
  it.each([
    ['a\r\nset-cookie: x=1', 'a__set-cookie_ x=1'],
    ['../../etc/passwd', '__.._etc_passwd'],
    ['C:\\Windows\\x.exe', 'C__Windows_x.exe'],
    ['.bashrc', '_bashrc'],
    ['report\u202Egpj.exe', 'report_gpj.exe'],
    ['"; filename="x.html', '_; filename=_x.html'],
    ['snow ☃ and ünïcode.txt', 'snow ☃ and ünïcode.txt'],
    ['日本語', '日本語'],
    ['\0', '_'],
    ['  ', '_'],
  ])('RS-4: %j is saved as %j', (name, saved) => {
    expect(downloadName(name)).toBe(saved);
  });

  it.each([
    'a\r\nset-cookie: x=1',
    '../../etc/passwd',
    'snow ☃',
    '"; filename="x.html',
    "it's (1)*.txt",
    '%0d%0a',
    'a%',
  ])('RS-4: %j comes back as a plain attachment', async (name) => {
    const { headers } = await download(name);
    expect(headers['content-disposition']).toMatch(/^attachment; filename/);
    expect(headers['content-disposition']).not.toMatch(/[\r\n]|\.\.\//);
    expect(headers['set-cookie']).toBeUndefined();
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['content-security-policy']).toContain('sandbox');
    const id = idOf(callPermit(), name);
    expect((await under.ask(`/v1/artifacts/${id}/record`, { permit: readPermit(id) })).json()).toMatchObject({ name });
  });

  it.each([
    ['text/html', 'application/octet-stream'],
    ['image/svg+xml', 'application/octet-stream'],
    ['application/xhtml+xml', 'application/octet-stream'],
    ['text/javascript', 'application/octet-stream'],
    ['application/pdf', 'application/octet-stream'],
    ['multipart/x-mixed-replace; boundary=x', 'application/octet-stream'],
    ['nonsense', 'application/octet-stream'],
    ['TEXT/PLAIN; charset=utf-7', 'text/plain; charset=utf-8'],
    ['image/png', 'image/png'],
  ])('RS-4: the type %s is served as %s', async (mediaType, served) => {
    expect((await download(`type of ${mediaType}`.replace(/[/;]/g, ' '), mediaType)).headers['content-type']).toBe(
      served,
    );
  });

  it.each([
    ['', 'no name'],
    ['plain', 'no RFC 8187'],
    ["UTF-8''%ff", 'no UTF-8'],
    ["UTF-8''a b", 'white space'],
    ["ISO-8859-1''a", 'another charset'],
    [`UTF-8''${'a'.repeat(201)}`, 'too long'],
    ["UTF-8''", 'empty'],
  ])('refuses the name %j: %s', async (header) => {
    const answer = await under.put(callPermit(), 'x', 'x', { 'toolfabric-name': header });
    expect(['invalid_request', 'forbidden']).toContain(answer.error);
  });

  it('refuses an unknown trust', async () => {
    expect((await under.put(callPermit(), 'x', 'x', { 'toolfabric-trust': 'full' })).error).toBe('invalid_request');
  });
});
