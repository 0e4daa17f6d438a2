import { existsSync, mkdirSync, readdirSync, readlinkSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findGroups } from './find-groups.ts';

const PIDS = '/sys/fs/cgroup/pids';
const MEMORY = '/sys/fs/cgroup/memory';
const isVersion1 = existsSync(join(PIDS, 'cgroup.procs')) && existsSync(join(MEMORY, 'cgroup.procs'));
const canMake = isVersion1 && process.getuid?.() === 0;

describe('control groups', () => {
  it('say why there are none', () => {
    expect(findGroups('no/such/directory')).toMatchObject({ groups: undefined, reason: expect.any(String) });
    for (const at of [PIDS, MEMORY]) expect(existsSync(join(at, 'no'))).toBe(false);
  });

  it.skipIf(!canMake)('are made and removed below their worker, and count nothing at first', async () => {
    const { groups } = findGroups(undefined);
    const group = await groups?.create('one', { memoryBytes: 64 * 1024 ** 2, processes: 8 });
    expect(group?.members()).toEqual([]);
    expect(group?.hits()).toEqual({ memory: 0, processes: 0 });
    expect(group?.cpuMs()).toBe(0);
    await group?.remove();
    await groups?.close();
  });

  it.skipIf(!canMake)(
    'of dead workers are removed at the next start; those of other name spaces are left alone',
    async () => {
      const own = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
      const dead = `toolfabric-1-12345678901-1-${own}`;
      const elsewhere = 'toolfabric-1-12345678901-1-1';
      for (const name of [dead, `${dead}/call`, elsewhere]) mkdirSync(join(PIDS, name));
      const { groups } = findGroups('.');
      const left = readdirSync(PIDS);
      rmdirSync(join(PIDS, elsewhere));
      await groups?.close();
      expect(left).not.toContain(dead);
      expect(left).toContain(elsewhere);
    },
  );
});
