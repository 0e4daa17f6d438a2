import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GATE, type GateCommand, tellBegin, tellCommand } from './gate.ts';

/** Runs a command through a real gate; what it printed, one character a byte. */
const pass = (told: GateCommand, encoding: 'utf8' | 'latin1' = 'utf8') =>
  new Promise<{ code: number | null; output: string; said: string }>((resolve) => {
    const gate = spawn('/bin/sh', ['-c', GATE, 'gate', '1000'], {
      env: { LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    const pipe = gate.stdio[3] as Duplex;
    let [output, said] = ['', ''];
    gate.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString('latin1')));
    pipe.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
    pipe.on('error', () => {});
    gate.once('close', (code) => resolve({ code, output, said }));
    pipe.write(tellCommand(told, encoding));
    pipe.write(tellBegin());
  });

const PRINT = ['/usr/bin/printf', String.raw`%s\0`];
const printed = (words: readonly string[]) => words.map((word) => `${word}\0`).join('');

/** Any bytes that an argument can have, and more often those that mean something to a shell. */
const byte = fc.oneof(
  fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)),
  fc.constantFrom(
    '\n',
    ' ',
    '\t',
    "'",
    '"',
    '\\',
    '$',
    '`',
    '*',
    '?',
    '-',
    '=',
    '+',
    ';',
    '&',
    '~',
    '\r',
    '\x81',
    '\x88',
  ),
);
const word = fc.oneof(
  fc.array(byte, { maxLength: 24 }).map((bytes) => bytes.join('')),
  fc.constantFrom('', '\n', '\n\n', '-', '--', '-n', '$(id)', '`id`', 'a\n', ' a ', '\\', 'g', 'w', '=\ng'),
);

describe('the gate of a sandbox', () => {
  let place: string;
  beforeAll(() => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'gate-')));
  });
  afterAll(() => rmSync(place, { recursive: true }));

  it('starts exactly the words that it was told, whatever bytes they hold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 6 }), async (words) => {
        const { code, output } = await pass({ command: [...PRINT, ...words], env: {}, cwd: '/' }, 'latin1');
        expect({ code, output }).toEqual({ code: 0, output: printed(words) });
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  it('and exactly the variables, beside those that it has', async () => {
    const name = fc.stringMatching(/^T_[A-Z][A-Z0-9_]{0,5}$/);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, word, { maxKeys: 4, noNullPrototype: true }), async (env) => {
        const { output } = await pass({ command: ['/usr/bin/env', '-0'], env, cwd: '/' }, 'latin1');
        const own = output.split('\0').filter((entry) => entry.startsWith('T_'));
        expect(own.sort()).toEqual(
          Object.entries(env)
            .map(([key, value]) => `${key}=${value}`)
            .sort(),
        );
        const others = output.split('\0').filter((entry) => entry !== '' && !entry.startsWith('T_'));
        expect(others.map((entry) => entry.split('=')[0]).sort()).toEqual(['LC_ALL', 'PWD']);
      }),
      { numRuns: 20 },
    );
  }, 60_000);

  it('in its directory, under any name; one that is none begins nothing', async () => {
    for (const name of ['plain', '-dash', 'two\nlines', " it's $HOME ", 'Á\u{10ffff}']) {
      const cwd = join(place, name);
      mkdirSync(cwd);
      const { output } = await pass({ command: ['/bin/pwd'], env: {}, cwd });
      expect(Buffer.from(output, 'latin1').toString()).toBe(`${cwd}\n`);
    }
    const nowhere = await pass({ command: ['/bin/echo', 'ran'], env: {}, cwd: join(place, 'nowhere') });
    expect(nowhere).toMatchObject({ code: 125, output: '', said: 'up\n' });
  });

  it('a hundred words of 4096 bytes', async () => {
    const words = Array.from({ length: 100 }, (_, index) => `${index}-`.padEnd(4096, 'x'));
    const { code, output } = await pass({ command: [...PRINT, ...words], env: {}, cwd: '/' });
    expect(code).toBe(0);
    expect(output === printed(words)).toBe(true);
  }, 30_000);

  it('begins nothing without the word for it, and takes no word that it does not know', async () => {
    const run = (told: string) =>
      new Promise<[number | null, string]>((resolve) => {
        const gate = spawn('/bin/sh', ['-c', GATE, 'gate', '1000'], { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] });
        let output = '';
        gate.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
        gate.once('close', (code) => resolve([code, output]));
        (gate.stdio[3] as Duplex).on('error', () => {}).end(told);
        (gate.stdio[3] as Duplex).resume();
      });
    const command = tellCommand({ command: ['/bin/echo', 'ran'], env: {}, cwd: '/' }).toString();
    expect(await run(command)).toEqual([125, '']);
    expect(await run(`${command}go\n`)).toEqual([125, '']);
    expect(await run(`${command}=\ng\n`)).toEqual([125, '']);
    expect(await run(`${command}g\n`)).toEqual([0, 'ran\n']);
  });

  it('a zero byte is refused, since a shell would drop it', () => {
    expect(() => tellCommand({ command: ['/bin/echo', 'a\0b'], env: {}, cwd: '/' })).toThrow(TypeError);
  });
});
