import type { Detector, Span } from './span.ts';

/** Shorter values are not searched: they would hit ordinary words. */
export const MIN_KNOWN = 6;
const MIN_FORM = 6;
const MAX_VALUES = 1000;
/** Longer ones are searched piece by piece. */
const MAX_FORM = 4096;

interface Form {
  readonly bytes: Buffer;
  /** The plain value, one character a byte. */
  readonly value: string;
  /** Characters of base64 around that also hold bits of the value. */
  readonly before: number;
  readonly after: number;
}

const plain = (bytes: Buffer, value: string): Form => ({ bytes, value, before: 0, after: 0 });

/** The characters of base64 that the value alone decides, when `shift` bytes stand before it. */
const base64Forms = (bytes: Buffer, value: string): Form[] =>
  [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const start = Math.ceil((shift * 8) / 6);
    const end = Math.floor(((shift + bytes.length) * 8) / 6);
    const form = { value, before: shift === 0 ? 0 : 1, after: (shift + bytes.length) % 3 === 0 ? 0 : 1 };
    const core = encoded.slice(start, end);
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')].map((text) => ({
      ...form,
      bytes: Buffer.from(text),
    }));
  });

const escapedAscii = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const percentForms = (text: string): string[] => {
  const encoded = encodeURIComponent(text.toWellFormed());
  const strict = encoded.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = strict.replaceAll('%20', '+');
  const lower = (escaped: string) => escaped.replace(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase());
  return [encoded, strict, form, encodeURI(text.toWellFormed()), lower(encoded), lower(strict), lower(form)];
};

const formsOf = (text: string): Form[] => {
  const bytes = Buffer.from(text, 'utf8');
  const value = bytes.toString('latin1');
  const hex = bytes.toString('hex');
  const json = JSON.stringify(text).slice(1, -1);
  const xml = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const texts = [
    ...percentForms(text),
    json,
    json.replaceAll('/', '\\/'),
    escapedAscii(text),
    xml,
    hex,
    hex.toUpperCase(),
  ];
  return [
    plain(bytes, value),
    ...texts.map((form) => plain(Buffer.from(form, 'utf8'), value)),
    ...base64Forms(bytes, value),
  ];
};

const piecesOf = (text: string): string[] => {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += MAX_FORM) pieces.push(text.slice(at, at + MAX_FORM));
  return pieces;
};

/** A value of several lines is searched line by line too, since a finding never crosses a line. */
const compileForms = (known: readonly string[]): Form[] => {
  const values = known
    .slice(0, MAX_VALUES)
    .flatMap((value) => [value, ...(value.includes('\n') ? value.split('\n') : [])]);
  const forms = new Map<string, Form>();
  for (const value of new Set(values.map((line) => line.trim()).flatMap(piecesOf)))
    for (const form of Buffer.byteLength(value) < MIN_KNOWN ? [] : formsOf(value)) {
      const key = form.bytes.toString('latin1');
      if (form.bytes.length >= MIN_FORM && !key.includes('\n') && !forms.has(key)) forms.set(key, form);
    }
  return [...forms.values()];
};

const matches = (bytes: Uint8Array, at: number, form: Buffer): boolean => {
  if (at + form.length > bytes.length) return false;
  for (let index = 0; index < form.length; index += 1) if (bytes[at + index] !== form[index]) return false;
  return true;
};

const isBase64 = (code: number | undefined): boolean =>
  code !== undefined && /[A-Za-z0-9+/_-]/.test(String.fromCharCode(code));

/**
 * Searches values that the caller gave, plain and encoded (base64 at all three places, percent, JSON, XML, hexadecimal),
 * all at once (Wu and Manber): a window as long as the shortest of them moves on by what its last two bytes allow.
 */
export const compileKnownValues = (known: readonly string[]): Detector | undefined => {
  const forms = compileForms(known);
  if (forms.length === 0) return undefined;
  const width = Math.min(64, ...forms.map(({ bytes }) => bytes.length));
  const shifts = new Uint8Array(1 << 16).fill(width - 1);
  const byEnd = new Map<number, Form[]>();
  for (const form of forms) {
    for (let at = 0; at + 1 < width; at += 1) {
      const pair = form.bytes.readUInt16BE(at);
      shifts[pair] = Math.min(shifts[pair] ?? 0, width - 2 - at);
      if (at === width - 2) byEnd.set(pair, [...(byEnd.get(pair) ?? []), form]);
    }
  }
  for (const list of byEnd.values()) list.sort((a, b) => b.bytes.length - a.bytes.length);

  return ({ bytes }, found) => {
    let at = width - 1;
    while (at < bytes.length) {
      const pair = ((bytes[at - 1] as number) << 8) | (bytes[at] as number);
      const shift = shifts[pair] as number;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const start = at - width + 1;
      const form = byEnd.get(pair)?.find((candidate) => matches(bytes, start, candidate.bytes));
      if (form !== undefined) found.push(spanOf(bytes, start, form));
      // One on even after a finding: values may overlap.
      at += 1;
    }
  };
};

const spanOf = (bytes: Uint8Array, start: number, { bytes: form, value, before, after }: Form): Span => {
  const end = start + form.length;
  return {
    start: start - (before > 0 && start > 0 && isBase64(bytes[start - 1]) ? 1 : 0),
    end: end + (after > 0 && isBase64(bytes[end]) ? 1 : 0),
    kind: 'known',
    value,
  };
};
