import { loadBuiltinContracts } from '@toolfabric/catalogue';
import type { ToolContract } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { renderPreview } from './approvals/render-preview.ts';
import { factsOf } from './extract.ts';
import { shellDigest } from './extract-programs.ts';

const contractOf = (name: string): ToolContract => {
  const found = loadBuiltinContracts().find((contract) => contract.name === name);
  if (found === undefined) throw new Error(`no contract ${name}`);
  return found;
};

const factsFor = (name: string, args: Record<string, unknown>) =>
  factsOf({
    contract: contractOf(name),
    args,
    actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
    task: { taskId: 't-1' },
    environment: 'development',
  });

const shell = (script: string, cwd?: string) => ({
  run: 'run-of-a-test',
  script,
  ...(cwd === undefined ? {} : { cwd }),
});

describe('CL-3: what the policy knows of a shell text', () => {
  it('its programs and the paths that they write, and that it is privileged whatever it says', () => {
    expect(factsFor('shell.run', shell('rg -l x | sort > out/list; rm a', 'd'))).toMatchObject({
      programs: ['rg', 'rm', 'sort'],
      writes: ['d/a', 'd/out/list'],
      paths: ['d/a', 'd/out/list'],
      risk: 'privileged',
      raisedBy: [],
    });
  });

  it('of a text that bash will read: bash, and anything', () => {
    expect(factsFor('shell.run', shell('ls $x'))).toMatchObject({
      programs: ['bash'],
      writes: ['.'],
      risk: 'privileged',
    });
  });

  it('a text that is never run is refused before anybody decides', () => {
    expect(() => factsFor('shell.run', shell('ls "'))).toThrow(
      expect.objectContaining({ type: 'shell_refused', message: expect.stringMatching(/^the text is never run: /) }),
    );
  });

  it('PO-1: the program of a command too', () => {
    expect(factsFor('process.run', { argv: ['node', 'x.mjs'] })).toMatchObject({ programs: ['node'], writes: [] });
    expect(factsFor('workspace.read_file', { path: 'a' })).toMatchObject({ programs: [] });
  });

  it('two readers agree by a digest, which other tools have not', () => {
    const contract = contractOf('shell.run');
    const digest = shellDigest(contract, shell('ls a'));
    expect(shellDigest(contract, shell('ls  a'))).toEqual(digest);
    expect(shellDigest(contract, shell('ls b'))).not.toEqual(digest);
    expect(shellDigest(contractOf('process.run'), { argv: ['ls'] })).toEqual({});
  });

  it.each([
    ['rg -l x | sort > out', 'runs: without a shell: rg, sort; may write out'],
    ['ls', 'runs: without a shell: ls; may write nothing of the workspace'],
    ['node a.mjs', 'runs: without a shell: node; may write anything in the workspace'],
    [
      'rm *.log',
      'runs: bash reads the text, since it holds Glob: the names that a pattern matches are not known before',
    ],
    ['ls; eval x', 'runs: bash reads the text, since it holds Builtin: "eval" is a command of the shell itself'],
  ])('PO-3: whoever has to say yes sees how %j will run, and the node that needs a shell', (script, line) => {
    const actor = { tenant: 'acme', user: 'ada', agent: 'coder' };
    const contract = contractOf('shell.run');
    const preview = renderPreview({
      actor,
      contract,
      args: shell(script),
      risk: 'privileged',
      raisedBy: [],
      files: [],
      hide: { text: (text) => text, json: (value) => value, count: 0 },
    });
    expect(preview.text.split('\n')).toContain(line);
    expect(preview.text).toContain(script);
  });
});
