import { parseArgs } from 'node:util';
import { compare, texts } from './fuzz.ts';

/** `node test/shell-fuzz/main.ts --strings 100000 --seed 7`: the number behind the open shell, as long as is wanted. */
const { values } = parseArgs({
  options: { strings: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } },
});

const before = performance.now();
const { unsound, ...counted } = await compare(texts(Number(values.seed), Number(values.strings)));
for (const text of unsound) console.log(`unsound: ${JSON.stringify(text)}`);
console.log(
  JSON.stringify({ ...counted, unsound: unsound.length, seconds: Math.round((performance.now() - before) / 1000) }),
);
if (unsound.length > 0) process.exitCode = 1;
