import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillTemplate, seededRandom } from './corpus/fill-template.ts';
import { NEGATIVE } from './corpus/negative.ts';
import { POSITIVE } from './corpus/positive.ts';
import { createRedactor, type Redactor } from './create-redactor.ts';

const KNOWN = 'Zebra-crossing/7?yes&no';
const make = (tenant = 'shop'): Redactor =>
  createRedactor({ secret: Buffer.alloc(32, 7), tenant, known: [KNOWN, 'first line\nsecond line of it'] });

/** Through a stream, in chunks that end at the cuts. */
const inChunks = (redactor: Redactor, bytes: Uint8Array, cuts: readonly number[]): Buffer => {
  const stream = redactor.stream();
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    parts.push(stream.push(bytes.subarray(from, cut)));
    from = cut;
  }
  parts.push(stream.push(bytes.subarray(from)), stream.end());
  return Buffer.concat(parts);
};

const filled = (seed: number): { text: string; secrets: readonly string[] }[] => {
  const random = seededRandom(seed);
  return [...Object.values(POSITIVE), ...Object.values(NEGATIVE)]
    .flat()
    .map((template) => fillTemplate(template, random));
};

/** Lines as programs print them, with secrets, marks, colours, broken UTF-8 and line ends of all sorts between. */
const pieces = fc.oneof(
  fc.constantFrom(...filled(11).map(({ text }) => text)),
  fc.constantFrom(
    '\n',
    '\r\n',
    ' ',
    '\x1b[31m',
    '\x1b[0m',
    '"',
    '=',
    '://',
    '@',
    KNOWN,
    Buffer.from(KNOWN).toString('base64'),
  ),
  fc.constantFrom('[redacted:token:0a1b2c3d]', '[redacted:', '密码', '🔑', '-----BEGIN PRIVATE KEY-----\n', '\n\n'),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
const outputs = fc
  .array(
    fc.oneof(
      pieces.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 12 }),
    ),
    { maxLength: 14 },
  )
  .map((parts) => Buffer.concat(parts));

describe('redaction of a stream', () => {
  it('RS-5: chunks never change the result', () => {
    fc.assert(
      fc.property(outputs, fc.array(fc.nat(400), { maxLength: 8 }), (bytes, cuts) => {
        const whole = inChunks(make(), bytes, []);
        expect(
          inChunks(
            make(),
            bytes,
            cuts.map((cut) => cut % (bytes.length + 1)),
          ).equals(whole),
        ).toBe(true);
      }),
      { numRuns: 600 },
    );
  });

  it('RS-5: finds each secret of the corpus whatever byte the chunks are cut at', () => {
    const redactor = make();
    // Random text without a name is found nine times in ten only; see the corpus.
    const { 'random text without a name': _random, ...named } = POSITIVE;
    const random = seededRandom(12);
    const entries = Object.values(named)
      .flat()
      .map((template) => fillTemplate(template, random));
    for (const { text, secrets } of entries.filter((entry) => entry.secrets.length > 0)) {
      const bytes = Buffer.from(`before\n${text}\nafter\n`);
      const whole = inChunks(redactor, bytes, []).toString();
      for (const secret of secrets) if (whole.includes(secret)) throw new Error(`not found: ${text}`);
      for (let cut = 1; cut < bytes.length; cut += 1)
        if (inChunks(redactor, bytes, [cut]).toString() !== whole) throw new Error(`cut at ${cut}: ${text}`);
    }
  });

  it('byte by byte it gives the same', () => {
    const bytes = Buffer.from(
      filled(13)
        .map(({ text }) => text)
        .join('\n'),
    );
    const each = Array.from({ length: bytes.length }, (_, at) => at);
    expect(inChunks(make(), bytes, each).equals(inChunks(make(), bytes, []))).toBe(true);
  });

  it('RS-5: redacting twice changes nothing', () => {
    fc.assert(
      fc.property(outputs, (bytes) => {
        const once = inChunks(make(), bytes, []);
        expect(inChunks(make(), once, []).toString('latin1')).toBe(once.toString('latin1'));
      }),
      { numRuns: 600 },
    );
  });

  it('a text gives what its stream gives', () => {
    fc.assert(
      fc.property(outputs, (bytes) => {
        const text = bytes.toString('utf8');
        expect(make().text(text)).toBe(inChunks(make(), Buffer.from(text), []).toString('utf8'));
      }),
      { numRuns: 300 },
    );
  });

  it('gives a text without secrets on as it is, byte for byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const redactor = make();
        const out = inChunks(redactor, bytes, []);
        if (redactor.count === 0) expect(out.equals(bytes)).toBe(true);
      }),
    );
  });

  it('RS-5: equal secrets have equal marks in one tenant and others in another', () => {
    const first = make('shop').text('password=hunter2');
    expect(first).toMatch(/^password=\[redacted:password:[0-9a-f]{8}\]$/);
    expect(make('shop').text('password=hunter2')).toBe(first);
    expect(make('shop').text('PGPASSWORD=hunter2')).toBe(`PG${first.replace('password=', 'PASSWORD=')}`);
    expect(make('other').text('password=hunter2')).not.toBe(first);
    const otherSecret = createRedactor({ secret: Buffer.alloc(32, 8), tenant: 'shop' });
    expect(otherSecret.text('password=hunter2')).not.toBe(first);
  });

  it('RS-5: finds a known value plain and encoded, under one mark', () => {
    const bytes = Buffer.from(KNOWN);
    const forms = [
      KNOWN,
      encodeURIComponent(KNOWN),
      JSON.stringify(KNOWN).slice(1, -1),
      bytes.toString('hex'),
      ...[0, 1, 2].map((shift) =>
        Buffer.concat([Buffer.alloc(shift, 'x'), bytes, Buffer.from('yz')]).toString('base64'),
      ),
      Buffer.from(KNOWN).toString('base64url'),
    ];
    const mark = make().text(KNOWN);
    for (const form of forms) expect(make().text(`see ${form} here`)).toContain(mark);
    expect(make().text('first line\nthen second line of it')).toMatch(
      /^\[redacted:known:\w{8}\]\nthen \[redacted:known:\w{8}\]$/,
    );
  });

  it('known values that are nearly words are not searched', () => {
    const redactor = createRedactor({ secret: Buffer.alloc(32), tenant: 'shop', known: ['', 'a', 'true', '  on  '] });
    expect(redactor.text('a true test is on')).toBe('a true test is on');
  });

  it('what does not end as a private key is given on', () => {
    for (const text of [
      '-----BEGIN PRIVATE KEY-----\nis how it begins\n',
      '-----BEGIN PRIVATE KEY-----\n',
      '-----BEGIN PRIVATE KEY-----',
      "if (text.startsWith('-----BEGIN PRIVATE KEY-----')) return;\n",
      '-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n',
    ])
      expect(make().text(text)).toBe(text);
  });

  it('a mark is never redacted, even when a known value stands in it', () => {
    const redactor = createRedactor({
      secret: Buffer.alloc(32, 7),
      tenant: 'shop',
      known: ['redacted', 'password', '0a1b2c3d'],
    });
    const text = 'a [redacted:password:0a1b2c3d] b';
    expect(redactor.text(text)).toBe(text);
    expect(redactor.text('password=[redacted:password:0a1b2c3d]')).toMatch(/=\[redacted:password:0a1b2c3d\]$/);
  });

  it('no secret can hide behind a forged mark', () => {
    expect(make().text('[redacted:hunter2:0a1b2c3d] password=hunter2')).not.toContain('=hunter2');
    expect(make().text('password="[redacted:password:0a1b2c3d]hunter2"')).not.toContain(']hunter2');
  });
});

const MARKED = /\[redacted:token:[0-9a-f]{8}\]/g;

describe('redaction of long lines', () => {
  const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;

  it('RS-5: finds a secret at every place around the border of a window', () => {
    for (let at = 65_536 - 60; at < 65_536 + 10; at += 1) {
      const line = `${'x, '.repeat(22_000).slice(0, at)} ${key} ${'y, '.repeat(30_000)}`;
      expect(make().text(line).includes(key)).toBe(false);
    }
  });

  it('RS-5: finds a value whose name stands before the border', () => {
    for (let at = 65_536 - 40; at < 65_536 + 4; at += 1) {
      const line = `${'x, '.repeat(22_000).slice(0, at)} "password" : "hunter2 of kim", ${'y, '.repeat(30_000)}`;
      expect(make().text(line).includes('hunter2')).toBe(false);
    }
  });

  it('takes no end of encoded data for a token, wherever the border is', () => {
    const random = seededRandom(3);
    const { text: data } = fillTemplate('{b64:1200}', random);
    for (let at = 65_536 - 1200; at < 65_536; at += 37) {
      const line = `${'x, '.repeat(22_000).slice(0, at)} ${data} ${'y, '.repeat(30_000)}`;
      expect(make().text(line) === line).toBe(true);
    }
  });

  it('chunks never change the result of a line of many windows', () => {
    const unit = `{"a":"${key}","b":[1,2,3],"c":"words and words"},`;
    const line = Buffer.from(unit.repeat(8000));
    const whole = inChunks(make(), line, []);
    expect(whole.toString().match(MARKED)?.length).toBe(8000);
    fc.assert(
      fc.property(fc.array(fc.nat(line.length), { maxLength: 30 }), (cuts) => {
        expect(inChunks(make(), line, cuts).equals(whole)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('a line of 100 MB takes bounded memory', () => {
    const chunk = Buffer.from(`${'no newline anywhere; '.repeat(50_000)}`);
    const stream = make().stream();
    let out = 0;
    let most = 0;
    const before = process.memoryUsage().rss;
    for (let sent = 0; sent < 100_000_000; sent += chunk.length) {
      out += stream.push(chunk).length;
      most = Math.max(most, process.memoryUsage().rss - before);
    }
    out += stream.end().length;
    expect(out % chunk.length).toBe(0);
    expect(most).toBeLessThan(150_000_000);
  });
});

describe('redaction of hostile input', () => {
  const hostile: Readonly<Record<string, string>> = {
    'at signs': '@'.repeat(200_000),
    'openings of URLs': 'a://b:'.repeat(40_000),
    'openings of keys': '-----BEGIN PRIVATE KEY-----'.repeat(8000),
    'lines that open keys': '-----BEGIN PRIVATE KEY-----\n'.repeat(8000),
    'names without values': 'password:'.repeat(25_000),
    'values made of names': 'password='.repeat(25_000),
    'values of names and dots': 'api_key=.'.repeat(25_000),
    'cookies in cookies': 'cookie:a=bcd;'.repeat(20_000),
    'cookies in attributes of cookies': 'cookie:path=abc;'.repeat(15_000),
    'names cut by colours': 'token\x1b[31m='.repeat(20_000),
    'quotes that never close': 'password:"'.repeat(25_000),
    'escaped quotes that never close': 'token:\\"'.repeat(25_000),
    'beginnings of tokens': 'eyJ'.repeat(70_000),
    'beginnings of tokens, apart': 'eyJ-sk-eyJ.ghp_'.repeat(15_000),
    'one run': 'aB3'.repeat(70_000),
    cookies: 'cookie: '.repeat(25_000),
    'cookie pairs': `Cookie: ${'a=b;'.repeat(50_000)}`,
    escapes: '\x1b['.repeat(100_000),
    'escapes of strings': '\x1b]0;'.repeat(50_000),
    marks: '[redacted:token:0a1b2c3d]'.repeat(8000),
    'many hits': 'password=hunter2 '.repeat(12_000),
    blanks: `password${' '.repeat(200_000)}=x`,
    backslashes: `password: "${'\\'.repeat(200_000)}`,
  };

  it.each(Object.entries(hostile))(
    '%s: ends, and chunks do not matter',
    (_, text) => {
      const bytes = Buffer.from(text);
      const whole = inChunks(make(), bytes, []);
      expect(inChunks(make(), bytes, [1, 70_000, 70_001, 150_000]).equals(whole)).toBe(true);
    },
    10_000,
  );
});
