/** Where a verb says things: results on stdout, everything else on stderr. */
export interface Output {
  readonly json: boolean;
  /** One result: as one line of JSON with `--json`, else as text for a person. */
  show(value: unknown, text: string): void;
  /** A remark for a person. */
  note(text: string): void;
}

/**
 * Makes control and bidirectional characters visible: what a tool returns comes from outside and must not move the
 * cursor, retitle the window or reorder what a person reads. Line feeds and tabs stay.
 */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (char) =>
    char === '\n' || char === '\t' ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );

const endWithLine = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

export const createOutput = (
  json: boolean,
  write: (text: string) => void = (text) => void process.stdout.write(text),
  remark: (text: string) => void = (text) => void process.stderr.write(text),
): Output => ({
  json,
  show: (value, text) => write(json ? `${JSON.stringify(value)}\n` : endWithLine(visible(text))),
  note: (text) => remark(endWithLine(visible(text))),
});
