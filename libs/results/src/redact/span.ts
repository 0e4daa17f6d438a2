import type { SecretKind } from './mark.ts';

/** A place in a window that is to be redacted. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly kind: SecretKind;
  /** What the mark is made of, when it is not what stands there: the plain form of an encoded value. */
  readonly value?: string;
}

/** A window as every detector gets it: the same bytes twice, and where they end. */
export interface Window {
  readonly bytes: Buffer;
  /** One character a byte. */
  readonly text: string;
  /** Whether the line before the first one was a full line of wrapped base64. */
  readonly afterWrapped: boolean;
}

/** A window whose text is made when somebody first asks for it: most output holds nothing that anybody would ask about. */
export class ByteWindow implements Window {
  readonly bytes: Buffer;
  readonly afterWrapped: boolean;
  #text: string | undefined;

  constructor(bytes: Buffer, afterWrapped: boolean) {
    this.bytes = bytes;
    this.afterWrapped = afterWrapped;
  }

  get text(): string {
    this.#text ??= this.bytes.toString('latin1');
    return this.#text;
  }
}

/** Puts what it finds in `text` into `found`. A finding never crosses a newline. */
export type Detector = (window: Window, found: Span[]) => void;
