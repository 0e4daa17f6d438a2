import type { LogPiece } from '@toolfabric/client';
import type { Arguments } from '../cli/arguments.ts';
import { withFabric } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { type Output, visible } from '../cli/output.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';

const MOST = Number.MAX_SAFE_INTEGER;
const MOST_ATTEMPTS = 1_000_000;

/** Tells the pieces of a log in their order, and where it begins anew. */
export class LogPrinter {
  readonly #output: Output;
  readonly #write: (text: string) => void;
  #decoder = new TextDecoder();
  #restarts = 0;
  #dropped = 0;

  constructor(output: Output, write: (text: string) => void = (text) => void process.stdout.write(text)) {
    this.#output = output;
    this.#write = write;
  }

  show(piece: LogPiece): void {
    if (piece.restarts !== this.#restarts) this.#beginAnew(piece);
    const text = this.#decoder.decode(piece.data, { stream: !piece.complete });
    this.#dropped = piece.dropped;
    if (this.#output.json) this.#output.show({ ...piece, data: undefined, text }, '');
    else this.#write(visible(text));
  }

  end(): void {
    if (!this.#output.json) this.#tellDropped();
  }

  /** A character that the earlier log cut in two is no part of this one. */
  #beginAnew({ restarts, attempt }: LogPiece): void {
    this.#restarts = restarts;
    this.#decoder = new TextDecoder();
    if (this.#output.json) return;
    this.#tellDropped();
    this.#output.note(`the log began anew: what follows is that of attempt ${attempt ?? '?'}, from its beginning`);
  }

  #tellDropped(): void {
    if (this.#dropped > 0) this.#output.note(`${this.#dropped} bytes of the log were not kept`);
    this.#dropped = 0;
  }
}

const placeOf = (args: Arguments) => {
  const attempt = args.integer('attempt', 1, MOST_ATTEMPTS);
  return { cursor: args.integer('cursor', 0, MOST) ?? 0, ...(attempt === undefined ? {} : { attempt }) };
};

/** `toolfabric log`: the output of a call that runs in the background, while it comes. */
export const log: Verb = {
  name: 'log',
  summary: 'Show the log of a call; --follow goes on until the call has ended.',
  usage: '<call id>',
  positionals: [1, 1],
  flags: {
    follow: { type: 'boolean', help: 'wait for more until the call has ended' },
    cursor: { type: 'string', value: 'BYTE', help: 'go on after so many bytes (0)' },
    attempt: { type: 'string', value: 'N', help: 'the attempt that came with the cursor; each has a log of its own' },
    ...CONNECT_FLAGS,
  },
  notes:
    'With --json: one line a piece, {"cursor":…,"attempt":…,"restarts":…,"text":…,"dropped":…,"complete":…}; go on with ' +
    '--cursor and --attempt. When restarts grows, the log began anew with a later attempt.',
  run: (context) =>
    withFabric(context, async (fabric, { signal }) => {
      const { args, output } = context;
      const printer = new LogPrinter(output);
      const options = { ...placeOf(args), follow: args.on('follow'), ...(signal === undefined ? {} : { signal }) };
      for await (const piece of fabric.readCallLog(args.positionals[0] ?? '', options)) printer.show(piece);
      printer.end();
      return EXIT.ok;
    }),
};
