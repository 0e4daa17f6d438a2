import type { EgressPermit, EgressRefusal } from '@toolfabric/contract';
import { compileRules, type Rule } from '../decide/compile-rules.ts';
import { Refused } from '../refuse.ts';
import { Connection, type ConnectionLimits } from './connection.ts';
import type { Spending } from './spending.ts';

export interface Closed {
  readonly connections: number;
  readonly bytes: number;
}

/** A permit in use: its rules, and the connections that are open under it. Once ended it stays so. */
export class OpenPermit {
  readonly permit: EgressPermit;
  readonly rules: readonly Rule[];
  readonly spending: Spending;
  readonly connections = new Set<Connection>();
  #reason: EgressRefusal | undefined;

  constructor(permit: EgressPermit, spending: Spending) {
    this.permit = permit;
    this.rules = compileRules(permit.rules);
    this.spending = spending;
  }

  get reason(): EgressRefusal | undefined {
    return this.#reason;
  }

  /** Throws when the permit has ended, is used up, or has as many connections open as it may. */
  connect(limits: ConnectionLimits): Connection {
    if (this.#reason !== undefined) throw new Refused(this.#reason);
    if (this.spending.isUsedUp) throw new Refused('budget_exceeded');
    if (this.spending.connections >= this.permit.maxConnections) throw new Refused('too_many_connections');
    const connection = new Connection(this.spending, limits);
    this.connections.add(connection);
    this.spending.connections += 1;
    void connection.closed.then(() => {
      this.connections.delete(connection);
      this.spending.connections -= 1;
    });
    return connection;
  }

  /** Ends everything of it; resolves, with how many there were, once all are closed. */
  async end(reason: EgressRefusal): Promise<number> {
    this.#reason ??= reason;
    const open = [...this.connections];
    for (const connection of open) connection.end(this.#reason);
    await Promise.all(open.map(({ closed }) => closed));
    return open.length;
  }
}
