import { createHash } from 'node:crypto';
import { createRedactor } from '@toolfabric/results';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArtifactMemory } from '../testing/artifact-memory.ts';
import { type CallOptions, callTool, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

const MIB = 1024 ** 2;
/** The full size takes a minute: set TOOLFABRIC_TEST_FULL=1 for it. */
const FLOOD_BYTES = process.env['TOOLFABRIC_TEST_FULL'] === '1' ? 2_000_000_000 : 300_000_000;

interface Data {
  exit_code: number | null;
  limit: string | null;
  limits_hit: Record<string, number>;
  survivors: number;
  survivors_counted_by: string;
  duration_ms: number;
  cpu_ms: number | null;
  max_memory_bytes: number | null;
  stdout: {
    text: string;
    bytes: number;
    lines: number;
    artifact?: string;
    artifact_missing?: string;
    binary?: boolean;
    invalid_utf8?: boolean;
    dropped_bytes?: number;
    colours_removed?: boolean;
  };
  stderr: { text: string; bytes: number };
  files_changed: { total: number };
}

describe('CL-4: commands that print without end', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture({
      commands: {
        memoryBytes: 256 * MIB,
        processes: 64,
        cpuMs: 3_000,
        fileBytes: 64 * MIB,
        tmpBytes: 16 * MIB,
        workspaceBytes: 48 * MIB,
        outputBytes: 4_000_000_000,
        stallMs: 700,
      },
    });
    workspace = await makeWorkspace(fixture);
  });
  afterAll(() => fixture.remove());

  const call = async (argv: string[], args: Record<string, unknown> = {}, more: CallOptions = {}) => {
    const outcome = await callTool(fixture.driver, 'process.run', workspace, { argv, ...args }, more);
    return { outcome, data: outcome.data as unknown as Data };
  };
  const script = async (source: string, args: Record<string, unknown> = {}, more: CallOptions = {}) => {
    await putFile(workspace, 'main.mjs', source);
    return call(['node', 'main.mjs'], args, more);
  };

  it(`prints ${FLOOD_BYTES / 1e6} MB: bounded memory, the right artifact, an honest result`, async () => {
    const artifacts = new ArtifactMemory();
    const line = 'the quick brown fox jumps over the lazy dog and goes on until the end of this line is there\n';
    const before = process.memoryUsage().rss;
    let most = 0;
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 50);
    const count = Math.floor(FLOOD_BYTES / line.length);
    const { outcome, data } = await script(
      `import fs from 'node:fs';
const block = ${JSON.stringify(line)}.repeat(1000);
for (let left = ${count}; left > 0; left -= 1000) fs.writeSync(1, left >= 1000 ? block : ${JSON.stringify(line)}.repeat(left));`,
      {},
      { artifacts, timeoutMs: 300_000, redactor: createRedactor({ secret: Buffer.alloc(32, 1), tenant: 'acme' }) },
    );
    clearInterval(timer);
    expect(outcome.status).toBe('ok');
    expect(data.stdout).toMatchObject({ bytes: count * line.length, lines: count });
    const hash = createHash('sha256');
    for (let left = count; left > 0; left -= 1000) hash.update(line.repeat(Math.min(1000, left)));
    expect(artifacts.named('stdout')).toMatchObject({ size: count * line.length, sha256: hash.digest('hex') });
    expect(data.stdout.artifact).toBe(artifacts.named('stdout')?.id);
    expect(outcome.artifacts).toContain(data.stdout.artifact);
    expect(outcome.content).toContainEqual(expect.objectContaining({ type: 'file', name: 'stdout' }));
    expect(outcome.truncation).toContainEqual(
      expect.objectContaining({ stream: 'stdout', total: count * line.length }),
    );
    expect(most - before).toBeLessThan(200 * MIB);
  }, 300_000);

  it('prints one line of 100 MB', async () => {
    const artifacts = new ArtifactMemory();
    const before = process.memoryUsage().rss;
    const { data } = await script(
      "import fs from 'node:fs'; const b = Buffer.alloc(1e6, 'x'); for (let i = 0; i < 100; i++) fs.writeSync(1, b);",
      {},
      { artifacts },
    );
    expect(data.stdout).toMatchObject({ bytes: 100_000_000, lines: 1 });
    const hash = createHash('sha256');
    for (let step = 0; step < 100; step += 1) hash.update(Buffer.alloc(1e6, 'x'));
    expect(artifacts.named('stdout')?.sha256).toBe(hash.digest('hex'));
    expect(Buffer.byteLength(data.stdout.text)).toBeLessThan(20_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
  });

  it('prints binary, invalid UTF-8, and colours cut in half', async () => {
    const artifacts = new ArtifactMemory();
    const binary = await call(['head', '-c', '3000000', '/dev/zero'], {}, { artifacts });
    expect(binary.data.stdout).toMatchObject({ bytes: 3_000_000, binary: true });
    expect(artifacts.named('stdout')?.sha256).toBe(createHash('sha256').update(Buffer.alloc(3_000_000)).digest('hex'));
    const invalid = await script(
      "import fs from 'node:fs'; fs.writeSync(1, Buffer.from([0x61, 0xff, 0xfe, 0x62, 0xc3])); ",
    );
    expect(invalid.data.stdout).toMatchObject({ bytes: 5, invalid_utf8: true });
    expect(invalid.data.stdout.text.isWellFormed()).toBe(true);
    const coloured = await script(
      "import fs from 'node:fs'; for (const part of ['\\x1b[3', '1mred\\x1b[', '0m plain ', '\\u2713'.slice(0), '\\x1b[38;5;']) { fs.writeSync(1, part); await new Promise((r) => setTimeout(r, 20)); }",
    );
    expect(coloured.data.stdout.text).toMatch(/^red plain ✓/);
    expect(coloured.data.stdout.text).not.toContain('\u001b');
  });
});
