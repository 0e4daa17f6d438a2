import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { canReach } from '../sandbox/reach.ts';
import { isRoot } from '../testing/driver-fixture.ts';

const SCRIPT = fileURLToPath(new URL('../testing/whole-round.ts', import.meta.url));
const OTHER = { uid: 65_534, gid: 65_534 };
const AS_OTHER = ['--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all', '--bounding-set=-all', '--'];

/** A checkout that only root may enter cannot be run by anybody else. */
const otherMayRun = isRoot && (await canReach(SCRIPT, OTHER)) && (await canReach(process.execPath, OTHER));

const round = (asOther: boolean) => {
  const [file = '', ...args] = asOther
    ? ['setpriv', ...AS_OTHER, process.execPath, SCRIPT]
    : [process.execPath, SCRIPT];
  return JSON.parse(execFileSync(file, args, { encoding: 'utf8', env: { PATH: '/usr/bin:/bin', TMPDIR: '/tmp' } }));
};

describe('CL-2: every tool, in a worker process of its own', () => {
  it.each(otherMayRun ? [false, true] : [false])('as another user than the one who runs the tests: %s', (asOther) => {
    const came = round(asOther);
    expect(came).toMatchObject({
      made: { created: true },
      listed: { files: ['src/a.txt'] },
      found: { matches_total: 1 },
      read: { text: 'needle\n' },
    });
    // A root worker gives its children a user of their own; any other one can only be itself.
    if (came.uid === 0) expect(came.child.uid).toBeGreaterThan(0);
    else expect(came.child).toBeUndefined();
  });
});
