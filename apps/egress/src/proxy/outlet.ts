import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Rule } from '../decide/compile-rules.ts';
import type { EgressContext } from '../egress-context.ts';
import { openUpstream } from './open-upstream.ts';
import type { Way } from './way.ts';

type OnCreated = (error: Error | null, socket: Duplex) => void;

/** The connection to the host under one rule: one at a time, kept between the requests of one tunnel. */
class RuleAgent extends Agent {
  readonly #open: () => Promise<Duplex>;

  constructor(open: () => Promise<Duplex>) {
    super({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1 });
    this.#open = open;
  }

  override createConnection(_options: unknown, onCreated?: OnCreated): undefined {
    this.#open().then(
      (socket) => onCreated?.(null, socket),
      (thrown: Error) => onCreated?.(thrown, undefined as unknown as Duplex),
    );
  }
}

/** The ways of one tunnel to its host. When the host closes one and nothing is asked, the tunnel ends as well. */
export class Outlet {
  readonly #agents = new Map<number, Agent>();
  readonly #ctx: EgressContext;
  readonly #way: Way;
  #asking = 0;

  constructor(ctx: EgressContext, way: Way) {
    this.#ctx = ctx;
    this.#way = way;
  }

  agentFor(rule: Rule): Agent {
    const agent = this.#agents.get(rule.index) ?? new RuleAgent(() => this.#open(rule));
    this.#agents.set(rule.index, agent);
    return agent;
  }

  begin(): void {
    this.#asking += 1;
  }

  finish(): void {
    this.#asking -= 1;
  }

  async #open(rule: Rule): Promise<Duplex> {
    const socket = await openUpstream(this.#ctx, this.#way, rule);
    socket.once('close', () => this.#asking === 0 && this.#way.connection.end());
    return socket;
  }
}
