import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const scratch = mkdtempSync(join(tmpdir(), 'toolfabric-gen-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const run = (args: readonly string[], input = '') =>
  spawnSync(join(ROOT, 'node_modules/.bin/buf'), args, { cwd: ROOT, encoding: 'utf8', input, timeout: 60_000 });

/** What buf printed; empty and status 0 when it is content. */
const complaints = (...args: string[]): string => {
  const { status, stdout, stderr } = run(args);
  return status === 0 ? stdout : `${stdout}${stderr}status ${status}`;
};

const filesBelow = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [file.slice(folder.length + 1), readFileSync(file, 'utf8')] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

describe('the wire definition', () => {
  it('passes lint and is formatted', () => {
    expect(complaints('lint')).toBe('');
    expect(complaints('format', '-d', '--exit-code')).toBe('');
  });

  it('breaks no client of the committed baseline', () => {
    expect(complaints('breaking', '--against', 'proto/baseline.binpb')).toBe('');
  });

  it('would notice a break', () => {
    const image = JSON.parse(run(['build', '-o', '-#format=json']).stdout);
    const file = image.file.find((one: { name: string }) => one.name.endsWith('result.proto'));
    const result = file.messageType.find((one: { name: string }) => one.name === 'ToolResult');
    result.field.find((one: { name: string }) => one.name === 'summary').number = 99;
    const broken = run(['breaking', '-#format=json', '--against', 'proto/baseline.binpb'], JSON.stringify(image));
    expect(broken.status).not.toBe(0);
    expect(broken.stdout).toContain('summary');
  });

  it('is what the committed code was generated from', () => {
    expect(complaints('generate', '-o', scratch)).toBe('');
    const fresh = filesBelow(join(scratch, 'libs/proto/src/gen'));
    expect(Object.keys(fresh)).toContain('toolfabric/v1/tool_service.ts');
    expect(filesBelow(join(ROOT, 'libs/proto/src/gen'))).toEqual(fresh);
  });
});
