import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WORKSPACE } from './check-steps.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-setup-'));
  mkdirSync(join(folder, 'bin'));
  for (const file of ['scripts', 'package.json', 'package-lock.json']) {
    cpSync(join(WORKSPACE, file), join(folder, file), { recursive: true });
  }
  symlinkSync(join(WORKSPACE, 'node_modules'), join(folder, 'node_modules'));
  for (const program of PROGRAMS) link(program);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const TOOLS = [
  'sh',
  'tr',
  'grep',
  'readlink',
  'dirname',
  'cksum',
  'uname',
  'cat',
  'env',
  'timeout',
  'touch',
  'chmod',
  'rm',
];
const PROGRAMS = [...TOOLS, 'node', 'npm', 'rg', 'git', 'bwrap', 'flock', 'setpriv', 'prlimit', 'nats-server'];

const outside = (process.env['PATH'] ?? '').split(delimiter).filter((dir) => !dir.endsWith('node_modules/.bin'));
const link = (name: string): void => {
  const found = [...outside, '/usr/sbin'].map((dir) => join(dir, name)).find(existsSync);
  if (found !== undefined) symlinkSync(found, join(folder, 'bin', name));
};
const unlink = (name: string): void => rmSync(join(folder, 'bin', name), { force: true });

/** A program of the machine that this test plays. */
const fake = (name: string, script: string): void => {
  unlink(name);
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'bin', name), 0o755);
};
const fakeAptGet = (): void => {
  fake('id', 'echo 0');
  fake(
    'apt-get',
    `echo "$@" >>'${folder}/apt'; case "$1" in install) printf '#!/bin/sh\\n' >'${folder}/bin/rg'; chmod +x '${folder}/bin/rg';; esac`,
  );
};
const aptCalls = (): string[] => readFileSync(join(folder, 'apt'), 'utf8').trim().split('\n');

const setup = (...args: string[]) => {
  const run = spawnSync('sh', [join(folder, 'scripts/setup'), ...args], {
    encoding: 'utf8',
    env: { PATH: join(folder, 'bin'), HOME: folder },
  });
  return { code: run.status, said: run.stdout + run.stderr };
};

describe('scripts/setup', () => {
  it('does and says nothing when nothing is missing, again and again', () => {
    expect(setup()).toEqual({ code: 0, said: '' });
    expect(setup('--yes')).toEqual({ code: 0, said: '' });
  });

  it('works through a link, from any folder', () => {
    symlinkSync(join(folder, 'scripts/setup'), join(folder, 'elsewhere'));
    const run = spawnSync('sh', [join(folder, 'elsewhere')], { cwd: '/', env: { PATH: join(folder, 'bin') } });
    expect(run.status).toBe(0);
  });

  it('installs what is missing by apt-get, and updates its lists once', () => {
    unlink('rg');
    fakeAptGet();
    expect(setup().code).toBe(0);
    expect(aptCalls()).toEqual([expect.stringMatching(/^update/), expect.stringMatching(/^install -y .* ripgrep$/)]);
    expect(setup()).toEqual({ code: 0, said: '' });
    expect(aptCalls()).toHaveLength(2);
  });

  it('says what to type when apt-get did not bring it', () => {
    unlink('rg');
    fake('id', 'echo 0');
    fake('apt-get', 'exit 100');
    const { code, said } = setup();
    expect(said).toContain('missing: rg. Type: sudo apt-get update && sudo apt-get install -y ripgrep');
    expect(code).toBe(1);
  });

  it('installs nothing without the right to, and says what to type', () => {
    unlink('rg');
    unlink('bwrap');
    fakeAptGet();
    fake('id', 'echo 1000');
    fake('sudo', 'exit 1');
    const { code, said } = setup();
    expect(said).toContain(
      'missing: rg bwrap. Type: sudo apt-get update && sudo apt-get install -y ripgrep bubblewrap',
    );
    expect(code).toBe(1);
    expect(existsSync(join(folder, 'apt'))).toBe(false);
  });

  it('uses sudo where it asks no password', () => {
    unlink('rg');
    fakeAptGet();
    fake('id', 'echo 1000');
    fake('sudo', `[ "$1" = -n ] && shift; echo sudo >>'${folder}/sudo'; "$@"`);
    expect(setup().code).toBe(0);
    expect(aptCalls()).toHaveLength(2);
    expect(existsSync(join(folder, 'sudo'))).toBe(true);
  });

  it('names the programs where it knows no way to install them', () => {
    unlink('git');
    expect(setup()).toEqual({ code: 1, said: expect.stringContaining('missing: git. Type: brew install git') });
  });

  it.each([
    [
      'an old Node',
      () => fake('node', 'case "$1" in -v) echo v18.20.0;; *) echo 18;; esac'),
      'this is Node v18.20.0: install Node 20',
    ],
    ['no Node', () => unlink('node'), 'no Node found'],
    ['no npm', () => unlink('npm'), 'no npm found'],
  ])('refuses %s', (_what, change, text) => {
    change();
    expect(setup()).toEqual({ code: 1, said: expect.stringContaining(text) });
  });

  it('refuses an argument that it does not know', () => {
    expect(setup('--force').code).toBe(1);
  });

  it('installs the packages again when the lock is another one', () => {
    fake('npm', `echo "$@" >>'${folder}/npm'`);
    rmSync(join(folder, 'node_modules'));
    mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
    symlinkSync(process.execPath, join(folder, 'node_modules/.bin/node'));
    expect(setup().code).toBe(0);
    expect(setup().code).toBe(0);
    expect(readFileSync(join(folder, 'npm'), 'utf8')).toMatch(/^ci .*\n$/);
    writeFileSync(join(folder, 'package-lock.json'), '{"packages":{"node_modules/x":{"version":"1.0.0"}}}');
    expect(setup().code).toBe(0);
    expect(readFileSync(join(folder, 'npm'), 'utf8').trim().split('\n')).toHaveLength(2);
  });

  it('puts Node 24 in place when an install script was left out, and gives up with a reason', () => {
    fake('npm', `echo "$@" >>'${folder}/npm'`);
    rmSync(join(folder, 'node_modules'));
    mkdirSync(join(folder, 'node_modules'));
    const { code, said } = setup();
    expect(readFileSync(join(folder, 'npm'), 'utf8')).toContain('rebuild node --ignore-scripts=false');
    expect(said).toContain('node_modules/.bin/node is not Node 24. Type: ');
    expect(code).toBe(1);
  });
});
