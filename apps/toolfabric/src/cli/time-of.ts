import type { Arguments } from './arguments.ts';
import { UsageError } from './usage-error.ts';

/** A date as people write one, or a span such as `2h` back from now. */
export const timeOf = (args: Arguments, flag: 'since' | 'until', now: number): number | undefined => {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  const back = /^(\d{1,6})(s|m|h|d)$/.exec(text);
  const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
  const at = back ? now - Number(back[1]) * UNITS[back[2] as keyof typeof UNITS] : Date.parse(text);
  if (!Number.isSafeInteger(at) || at < 0) throw new UsageError(`--${flag} ${text}: give 2026-11-30T12:00Z or 2h`);
  return at;
};
