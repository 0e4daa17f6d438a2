import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Actor } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';

/** Whom a token is bound to, as far as it is not the usual actor. */
export interface Who {
  readonly user?: string;
  readonly tenant?: string;
  readonly agent?: string;
  readonly rights?: string[];
}

/** The tokens of one cluster, in the file that its gateways read. */
export class ClusterTokens {
  readonly file: string;
  readonly #directory: string;
  readonly #usual: Actor;
  readonly #entries: (Actor & { id: string; sha256: string; rights: string[] })[] = [];

  constructor(directory: string, usual: Actor) {
    this.file = join(directory, 'tokens.json');
    this.#directory = directory;
    this.#usual = usual;
  }

  /** The same for the same; made and written where there is none. */
  of({ rights = [], ...other }: Who): string {
    const actor = { ...this.#usual, ...other };
    const id = `t-${sha256Hex(JSON.stringify([actor, rights])).slice(0, 12)}`;
    const token = `tf_${sha256Hex(`${this.#directory}${id}`)}`;
    if (!this.#entries.some((entry) => entry.id === id)) {
      this.#entries.push({ id, sha256: sha256Hex(token), ...actor, rights });
      this.#write();
    }
    return token;
  }

  /** Written aside and renamed: a gateway never reads half a file. */
  #write(): void {
    writeFileSync(`${this.file}.new`, JSON.stringify(this.#entries));
    renameSync(`${this.file}.new`, this.file);
  }
}
