import { compileInput, contractDigests, type InputCheck } from '@toolfabric/catalogue';
import type { RegistryRecord, ToolContract, ToolRef } from '@toolfabric/contract';
import { type Clock, digestOf, FabricError, type Logger } from '@toolfabric/kernel';
import { createRecord, toolKey } from '@toolfabric/ledger';
import type { Store, Versioned } from '@toolfabric/ports';
import { buildIndex, type ToolIndex } from '@toolfabric/routing';

/** Records that are read at once when the registry is loaded. */
const READ_AT_ONCE = 32;

/** A record of another version stands there: it was said when it was read. */
const isUnreadable = (thrown: unknown): void => {
  if (!(thrown instanceof FabricError)) throw thrown;
};

/** The registry as this router knows it: an index built once for each change, and one compiled schema a digest. */
export class Registry {
  readonly #store: Store<RegistryRecord>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #checks = new Map<string, InputCheck>();
  #records: readonly RegistryRecord[] = [];
  #byDigest: ReadonlyMap<string, ToolContract> = new Map();
  #index: ToolIndex = buildIndex([]);
  #revision = -1;
  #catalogueDigest = '';

  constructor(store: Store<RegistryRecord>, clock: Clock, log: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  get records(): readonly RegistryRecord[] {
    return this.#records;
  }

  /** The contracts of calls that there may be: of every state but drafts. */
  get everPublished(): readonly ToolContract[] {
    return this.#records.filter(({ state }) => state !== 'draft').map(({ contract }) => contract);
  }

  get index(): ToolIndex {
    return this.#index;
  }

  /** Says which catalogue a listing came from; changes with every record. */
  get catalogueDigest(): string {
    return this.#catalogueDigest;
  }

  /** A published contract never changes, so its digest finds it in every state. Throws `unavailable`. */
  async contractOf(tool: ToolRef): Promise<ToolContract> {
    const known = this.#byDigest.get(tool.digest);
    if (known) return known;
    const stored = await this.#read(toolKey(tool.name, tool.version));
    if (stored?.value.digest === tool.digest) return stored.value.contract;
    throw new FabricError('unavailable', 'the contract of this call cannot be read here');
  }

  /** The check of a tool's arguments, compiled at its first use. */
  inputCheck(record: RegistryRecord): InputCheck {
    const known = this.#checks.get(record.digest);
    if (known) return known;
    const check = compileInput(record.contract);
    this.#checks.set(record.digest, check);
    return check;
  }

  /** Publishes the built-in contracts where they are not there yet; a version that differs stays as it was. */
  async seed(contracts: readonly ToolContract[]): Promise<void> {
    for (const contract of contracts) {
      const digests = contractDigests(contract);
      const record: RegistryRecord = { contract, state: 'published', ...digests, publishedAt: this.#clock.now() };
      const key = toolKey(contract.name, contract.version);
      const stored = await this.#read(key);
      if (stored === undefined)
        await createRecord(this.#store, key, record, { clock: this.#clock }).catch(isUnreadable);
      else if (stored.value.digest !== digests.digest)
        this.#log.error('registry.other_content', { tool: contract.name, version: contract.version });
    }
  }

  /** A record that cannot be read (of another version, say) hides itself, not the others. */
  async #read(key: string): Promise<Versioned<RegistryRecord> | undefined> {
    try {
      return await this.#store.get(key);
    } catch (thrown) {
      if (!(thrown instanceof FabricError)) throw thrown;
      this.#log.error('registry.not_read', { key });
      return undefined;
    }
  }

  /** Reads everything again when the store was written to since; asked once a second. */
  async refresh(): Promise<void> {
    const revision = await this.#store.lastRevision();
    if (revision === this.#revision) return;
    const keys = await this.#store.keys('tool');
    const records: RegistryRecord[] = [];
    for (let from = 0; from < keys.length; from += READ_AT_ONCE) {
      const found = await Promise.all(keys.slice(from, from + READ_AT_ONCE).map((key) => this.#read(key)));
      for (const record of found) if (record) records.push(record.value);
    }
    this.#records = records;
    this.#byDigest = new Map(records.map(({ digest, contract }) => [digest, contract]));
    this.#index = buildIndex(records);
    this.#catalogueDigest = digestOf(records.map(({ digest, state }) => `${digest}:${state}`).sort());
    this.#revision = revision;
  }
}
