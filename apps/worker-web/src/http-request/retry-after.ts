const MOST_MS = 3_600_000;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Milliseconds until another request is welcome, an hour at most; undefined where the header says nothing usable. */
export const retryAfter = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  const date = HTTP_DATE.test(text) ? Date.parse(text) - now : Number.NaN;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : date;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), MOST_MS) : undefined;
};
