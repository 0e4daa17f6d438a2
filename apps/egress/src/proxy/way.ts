import type { EgressAttempt } from '../attempts.ts';
import type { Rule } from '../decide/compile-rules.ts';
import type { EgressContext } from '../egress-context.ts';
import type { Connection } from '../permits/connection.ts';
import type { OpenPermit } from '../permits/open-permit.ts';
import type { Target } from '../target/parse-target.ts';

/** One connection of a client on its way to one target, and the rules under which it may get there. */
export interface Way {
  readonly permit: OpenPermit;
  readonly connection: Connection;
  readonly target: Target;
  readonly scheme: Rule['scheme'];
  readonly rules: readonly Rule[];
  /** Monotonic milliseconds. */
  readonly since: number;
}

type Told = Omit<EgressAttempt, 'permit' | 'ms'>;

/** Reports an attempt under the permit. */
export const tell = (ctx: EgressContext, { permit }: OpenPermit, since: number, told: Told): void => {
  const { actor, taskId, callId, epoch } = permit;
  const ms = Math.round(ctx.clock.monotonic() - since);
  ctx.attempts.record({ permit: { actor, taskId, callId, epoch }, ...told, ms });
};

/** Reports the end of a connection once it has come, with its bytes. */
export const tellEnd = (ctx: EgressContext, way: Pick<Way, 'permit' | 'connection' | 'target' | 'since'>): void => {
  const { permit, connection, target, since } = way;
  void connection.closed.then(() => {
    const { reason, bytes } = connection;
    const { host, port } = target;
    const why = reason === undefined ? {} : { reason };
    tell(ctx, permit, since, { verdict: 'closed', host, port, bytesOut: bytes.out, bytesIn: bytes.in, ...why });
  });
};
