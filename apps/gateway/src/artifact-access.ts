import { ArtifactId, CallId, type Envelope, type RpcRequest } from '@toolfabric/contract';
import { FabricError, type Pace } from '@toolfabric/kernel';
import { type ArtifactFront, StoreUnavailable } from '@toolfabric/ports';
import { invalidField } from './invalid-request.ts';
import { patienceOf, type RequestContext } from './request-context.ts';
import type { RouterClient } from './router-client.ts';

export interface Granted {
  readonly front: ArtifactFront;
  readonly permit: Envelope;
  readonly artifactId: string;
}

export interface GrantedLog extends Granted {
  /** Whose log it is; not told by a router of before. */
  readonly attempt: number | undefined;
}

/**
 * Asks the router for a leave in the name of the caller, and the artifact store with it: whether this caller may is
 * decided by the store at each request (RS-4).
 */
export class ArtifactAccess {
  readonly #router: RouterClient;
  readonly #front: ArtifactFront | undefined;
  readonly #pace: Pick<Pace, 'rpcAttemptMs'>;

  constructor(router: RouterClient, front: ArtifactFront | undefined, pace: Pick<Pace, 'rpcAttemptMs'>) {
    this.#router = router;
    this.#front = front;
    this.#pace = pace;
  }

  /** For one artifact. Throws `invalid_request` for what can be no id. */
  async forArtifact(artifactId: string, action: 'read' | 'manage', context: RequestContext): Promise<Granted> {
    if (!ArtifactId.safeParse(artifactId).success) throw invalidField('artifact_id', 'the id of an artifact');
    const front = this.#present();
    const { permit } = await this.#ask({ action, artifactId }, context);
    return { front, permit, artifactId };
  }

  /** For the log of a call; throws `not_found` for a call of somebody else. */
  async forLog(callId: string, context: RequestContext): Promise<GrantedLog> {
    if (!CallId.safeParse(callId).success) throw invalidField('call_id', 'the id of a call');
    const front = this.#present();
    const { permit, artifactId, attempt } = await this.#ask({ action: 'read', callId }, context);
    if (artifactId === undefined) throw new FabricError('internal', 'the router named no log');
    return { front, permit, artifactId, attempt };
  }

  async forList(context: RequestContext): Promise<Omit<Granted, 'artifactId'>> {
    const front = this.#present();
    return { front, permit: (await this.#ask({ action: 'list' }, context)).permit };
  }

  #ask(request: Omit<RpcRequest<'permitArtifact'>, 'actor'>, context: RequestContext) {
    const { actor } = context.identity;
    return this.#router.ask('permitArtifact', { actor, ...request }, patienceOf(this.#pace)(context));
  }

  #present(): ArtifactFront {
    if (this.#front === undefined) {
      throw new FabricError('not_configured', 'the gateway is not configured with an artifact store', {
        hint: 'Do without artifacts and logs, or ask an operator to set TOOLFABRIC_ARTIFACTS_URL of the gateway.',
      });
    }
    return this.#front;
  }
}

/** A store that does not answer is an outage: the same request may be sent again. */
export const storeFailure = (thrown: unknown): unknown =>
  thrown instanceof StoreUnavailable
    ? new FabricError('unavailable', 'the artifact store does not answer', { retryAfterMs: 500, cause: thrown })
    : thrown;
