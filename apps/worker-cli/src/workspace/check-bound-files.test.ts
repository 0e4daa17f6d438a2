import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, errorType, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import type { WorkspaceRecord } from './workspace-record.ts';

let fixture: Fixture;
let workspace: WorkspaceRecord;
const SCRIPT = 'scripts/deploy.sh';
const TEXT = 'echo one\n';

beforeAll(async () => {
  fixture = await makeFixture({ allowRootOwned: true });
});
afterAll(() => fixture.remove());

const at = (path: string): string => join(workspace.root, path);
const prepare = async (): Promise<void> => {
  const folder = join(fixture.root, `w${process.hrtime.bigint()}`);
  mkdirSync(join(folder, 'scripts'), { recursive: true });
  writeFileSync(join(folder, SCRIPT), TEXT);
  writeFileSync(join(folder, 'other.txt'), 'old\n');
  workspace = await makeWorkspace(fixture, { type: 'existing', path: folder });
};

/** A write to another file, under a yes that is bound to the script. */
const write = (sha256: string, path = SCRIPT) => {
  const begun: unknown[] = [];
  const edit = {
    path: 'other.txt',
    old_text: 'old',
    new_text: 'new',
    expected_sha256: sha256Hex('old\n'),
  };
  const options = {
    boundFiles: [{ path, sha256 }],
    beginEffect: async (intent: unknown) => void begun.push(intent),
  };
  return { begun, done: callTool(fixture.driver, 'workspace.edit_file', workspace, edit, options) };
};

describe('files that a yes is bound to', () => {
  it('PO-4: that are the same let the call begin', async () => {
    await prepare();
    const { begun, done } = write(sha256Hex(TEXT));
    expect(await done).toMatchObject({ status: 'ok' });
    expect(begun).toHaveLength(1);
  });

  it.each<[string, () => void]>([
    ['were changed', () => writeFileSync(at(SCRIPT), 'echo two\n')],
    ['were taken away', () => rmSync(at(SCRIPT))],
    [
      'are a directory by now',
      () => {
        rmSync(at(SCRIPT));
        mkdirSync(at(SCRIPT));
      },
    ],
    [
      'are a link out of the workspace, to the same text',
      () => {
        writeFileSync(join(fixture.base, 'outside.sh'), TEXT);
        rmSync(at(SCRIPT));
        symlinkSync(join(fixture.base, 'outside.sh'), at(SCRIPT));
      },
    ],
  ])('PO-4: that %s end it before any effect', async (_, change) => {
    await prepare();
    change();
    const { begun, done } = write(sha256Hex(TEXT));
    expect(await errorType(done)).toBe('approval_changed');
    expect(begun).toEqual([]);
    expect(readFileSync(at('other.txt'), 'utf8')).toBe('old\n');
  });

  it('PO-4: that were not there may not have come', async () => {
    await prepare();
    expect(await errorType(write('absent').done)).toBe('approval_changed');
    expect(await write('absent', 'scripts/none.sh').done).toMatchObject({ status: 'ok' });
  });

  it('PO-4: are looked at for tools that take no lock as well', async () => {
    await prepare();
    const options = { boundFiles: [{ path: SCRIPT, sha256: sha256Hex('another') }] };
    const reading = callTool(fixture.driver, 'workspace.read_file', workspace, { path: 'other.txt' }, options);
    expect(await errorType(reading)).toBe('approval_changed');
  });
});
