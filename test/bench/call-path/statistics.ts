/** The value below which the part `p` (0 to 1) of the samples lies, by nearest rank; NaN without samples. */
export const percentile = (samples: readonly number[], p: number): number => {
  const sorted = Float64Array.from(samples).sort();
  const rank = Math.max(1, Math.ceil(p * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
};

/** The middle value; between the two middle ones of an even number. NaN without samples. */
export const median = (samples: readonly number[]): number => {
  const sorted = Float64Array.from(samples).sort();
  const half = sorted.length / 2;
  const upper = sorted[Math.floor(half)] ?? Number.NaN;
  return Number.isInteger(half) ? (upper + (sorted[half - 1] ?? Number.NaN)) / 2 : upper;
};

export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export const spreadOf = (samples: readonly number[]): Spread => ({
  p50: percentile(samples, 0.5),
  p95: percentile(samples, 0.95),
  p99: percentile(samples, 0.99),
});
