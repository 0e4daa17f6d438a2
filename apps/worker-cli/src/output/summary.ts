/** What a result shows of one stream. */
export interface StreamSummary {
  readonly text: string;
  /** Bytes that `text` stands for. */
  readonly keptBytes: number;
  readonly total: number;
  readonly lines: number;
  readonly binary: boolean;
  readonly invalidUtf8: boolean;
  readonly keyLines: readonly string[];
}

export interface SummaryOptions {
  readonly headBytes: number;
  readonly tailBytes: number;
}

export interface Summary {
  push(bytes: Uint8Array): void;
  end(): StreamSummary;
}

export const makeSummary = ({ headBytes, tailBytes }: SummaryOptions): Summary => {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let total = 0;
  let lines = 0;
  return {
    push(bytes) {
      total += bytes.length;
      for (const byte of bytes) if (byte === 10) lines += 1;
      if (head.length < headBytes) head = Buffer.concat([head, bytes.subarray(0, headBytes - head.length)]);
      tail = Buffer.concat([tail, bytes.subarray(-tailBytes)]).subarray(-tailBytes);
    },
    end() {
      const whole = total <= headBytes;
      const text = whole ? head.toString() : `${head.toString()}\n[…]\n${tail.toString()}`;
      return {
        text,
        keptBytes: Math.min(total, headBytes + tailBytes),
        total,
        lines,
        binary: false,
        invalidUtf8: false,
        keyLines: [],
      };
    },
  };
};
