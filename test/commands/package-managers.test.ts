import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bareRepository, gitServer } from './git-server.ts';
import { type NetworkRig, openNetworkRig } from './network-rig.ts';
import { hasPip, packageRegistry } from './package-registry.ts';

const PIP = `
import subprocess, sys
index, = sys.argv[1:]
host = index.split('/')[2].split(':')[0]
subprocess.run([sys.executable, '-m', 'pip', 'install', '--no-cache-dir', '--no-input', '--target', 'libs', '--trusted-host', host, '-i', index, 'lefthand'], check=True)
sys.path.insert(0, 'libs')
import lefthand
print('side', lefthand.SIDE)
`;

const GIT = `
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
const [url, branch] = process.argv.slice(2);
const home = mkdtempSync('/tmp/clone-');
const git = (...args) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd: home }).toString().trim();
git('clone', '-q', url, '.');
writeFileSync(home + '/new.bin', Buffer.alloc(3_000_000, branch));
git('add', '.');
git('commit', '-q', '-m', 'second');
git('push', '-q', 'origin', 'HEAD:refs/heads/' + branch);
console.log(git('rev-parse', 'HEAD'));
`;

describe('package managers and git', () => {
  const folder = mkdtempSync(join(tmpdir(), 'package-managers-'));
  const repository = bareRepository(folder, 'shop');
  let rig: NetworkRig;
  beforeAll(async () => {
    const registry = packageRegistry(join(folder, 'registry'));
    const repositories = gitServer(folder);
    rig = await openNetworkRig(
      (request, response) => (request.url?.startsWith('/shop.git') ? repositories : registry)(request, response),
      (pem) => {
        writeFileSync(join(folder, 'ca.pem'), pem);
        return join(folder, 'ca.pem');
      },
    );
    await rig.put('install.py', PIP);
    await rig.put('git.mjs', GIT);
  });
  afterAll(async () => {
    await rig.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const ways = [
    ['plain', 'plain'],
    ['read', 'secure'],
  ] as const;

  it.each(ways)('CL-6: npm installs from a registry of the permit (%s)', async (rule, base) => {
    const setup = `rm -rf node_modules package-lock.json && npm install --no-audit --fetch-retries=0 --registry ${rig[base]}/ left-hand && node -p "require('left-hand')"`;
    await rig.put('package.json', JSON.stringify({ name: 'app', version: '1.0.0', scripts: { setup } }));
    const { outcome, data } = await rig.run(['npm', 'run', 'setup'], rig.session([rig.rules[rule]]), {
      timeoutMs: 60_000,
    });
    expect(data, outcome.summary).toMatchObject({ exit_code: 0, survivors: 0 });
    expect(data.stdout.text).toMatch(/\nleft\n$/);
  });

  // A machine without pip has nothing to try here.
  it.each(hasPip() ? ways : [])('CL-6: pip installs from an index of the permit (%s)', async (rule, base) => {
    const { data } = await rig.run(['python3', 'install.py', `${rig[base]}/simple/`], rig.session([rig.rules[rule]]), {
      timeoutMs: 60_000,
    });
    expect(data.stdout.text, data.stderr.text).toContain('side left');
  });

  it.each(ways)('CL-6: git clones and pushes over smart HTTP (%s)', async (rule, base) => {
    const argv = ['node', 'git.mjs', `${rig[base]}/shop.git`, `from-${rule}`];
    const { data } = await rig.run(argv, rig.session([rig.rules[rule]]), { timeoutMs: 60_000 });
    expect(data, data.stderr.text).toMatchObject({ exit_code: 0 });
    expect(data.stdout.text.trim()).toBe(repository.ref(`from-${rule}`));
  });

  it('CL-6: npm says which registry was refused, and so does the answer', async () => {
    const setup = `npm install --no-audit --fetch-retries=0 --registry http://elsewhere.example.com/ left-hand`;
    await rig.put('package.json', JSON.stringify({ name: 'app', version: '1.0.0', scripts: { setup } }));
    const { outcome, data } = await rig.run(['npm', 'run', 'setup'], rig.session([rig.rules.plain]), {
      timeoutMs: 60_000,
    });
    expect(data.exit_code).not.toBe(0);
    expect(outcome.summary).toContain('elsewhere.example.com (host_not_permitted)');
  });
});
