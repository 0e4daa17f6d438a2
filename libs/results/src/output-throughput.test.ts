import { describe, expect, it } from 'vitest';
import { createRedactor } from './redact/create-redactor.ts';
import { OutputSummary } from './summary/output-summary.ts';

const MEGABYTES = 300;
const CHUNK = 65_536;

/** A megabyte of lines as builds and servers print them. */
const plainText = (): Buffer => {
  const lines: string[] = [];
  for (let at = 0, size = 0; size < 1_000_000; at += 1) {
    const line = `[${at}] compiled module src/features/part-${at % 97}/view.ts in ${at % 13} ms, cache hit for shared chunk\n`;
    lines.push(line);
    size += line.length;
  }
  return Buffer.from(lines.join('')).subarray(0, 1_000_000);
};

describe('a flood of output', () => {
  it(`RS-3, RS-5: ${MEGABYTES} MB through redaction and summary take bounded memory`, () => {
    const source = plainText();
    const redacting = createRedactor({
      secret: Buffer.alloc(32, 7),
      tenant: 'shop',
      known: Array.from({ length: 10 }, (_, at) => `value-${at}-${'xyz'.repeat(4)}`),
    }).stream();
    const summary = new OutputSummary({ headBytes: 8192, tailBytes: 8192 });
    const before = process.memoryUsage().rss;
    const cpuBefore = process.cpuUsage();
    let most = 0;
    for (let sent = 0; sent < MEGABYTES; sent += 1) {
      for (let at = 0; at < source.length; at += CHUNK) summary.push(redacting.push(source.subarray(at, at + CHUNK)));
      most = Math.max(most, process.memoryUsage().rss - before);
    }
    summary.push(redacting.end());
    const { user, system } = process.cpuUsage(cpuBefore);
    const { total, lines } = summary.end();
    const rate = (MEGABYTES * 1_000_000) / (user + system);
    console.log(
      `redaction and summary: ${rate.toFixed(0)} MB a second of processor time, ${(most / 1e6).toFixed(0)} MB more memory`,
    );
    expect(total).toBe(MEGABYTES * 1_000_000);
    expect(lines).toBeGreaterThan(MEGABYTES * 9000);
    expect(most).toBeLessThan(200_000_000);
  }, 60_000);
});
