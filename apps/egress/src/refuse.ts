import { EGRESS_REFUSALS, type EgressRefusal } from '@toolfabric/contract';

/** Thrown where something may not pass: the reason is a row of the table, and nothing of what was asked stands in it. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly reason: EgressRefusal;

  constructor(reason: EgressRefusal, cause?: unknown) {
    super(EGRESS_REFUSALS[reason].meaning, { cause });
    this.reason = reason;
  }
}

/** The reason of anything thrown; what nobody foresaw counts as `fallback`. */
export const reasonOf = (thrown: unknown, fallback: EgressRefusal): EgressRefusal =>
  thrown instanceof Refused ? thrown.reason : fallback;
