import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contractDigests, parseContract, renderTemplate } from '@toolfabric/catalogue';
import * as contract from '@toolfabric/contract';
import { callIdFor, createVerifier, digestOf, sha256Hex, shardOf, slotOf, taskIdFor } from '@toolfabric/kernel';
import * as ledger from '@toolfabric/ledger';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const FOLDER = fileURLToPath(new URL('golden', import.meta.url));
const MANIFEST = 'MANIFEST.sha256';
const DERIVED = 'derived-values.json';

const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');
const files = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .sort();
const messages = files.filter((file) => file !== DERIVED);

const kebab = (name: string): string => name.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase();

/** By what a file name begins with: `call-record.queued.json` is a `CallRecord`. */
const SCHEMAS = new Map<string, z.ZodType>([
  ...Object.entries(contract).flatMap(([name, value]): [string, z.ZodType][] =>
    value instanceof z.ZodType ? [[kebab(name), value]] : [],
  ),
  ...Object.entries(contract.RPC).flatMap(([verb, { request, reply }]): [string, z.ZodType][] => [
    [`rpc-${kebab(verb)}.request`, request],
    [`rpc-${kebab(verb)}.reply`, reply],
  ]),
]);
const schemaOf = (file: string): z.ZodType | undefined =>
  SCHEMAS.get(file.replace(/\.json$/, '')) ?? SCHEMAS.get(file.split('.')[0] ?? '');

/** Everything that is stored or sent on its own. */
const ON_THE_WIRE = `approval-record call-record claim dead-letter envelope fabric-event life-sign open-entry
  operation-record progress-notice registry-record result-message rpc-failure settled-notice shard-lease task-record
  work-body`.split(/\s+/);

describe('golden messages', () => {
  it('are added and never edited: each is as it was when it was added', () => {
    const listed = new Map(
      read(MANIFEST)
        .trimEnd()
        .split('\n')
        .map((line): [string, string] => [line.slice(66), line.slice(0, 64)]),
    );
    const actual = new Map(files.map((file) => [file, sha256Hex(readFileSync(join(FOLDER, file)))]));
    const added = [...actual].filter(([file]) => !listed.has(file)).map(([file, hash]) => `${hash}  ${file}`);
    const edited = [...listed].filter(([file, hash]) => actual.get(file) !== hash).map(([file]) => file);
    expect(edited, 'edited or removed: put them back, and add a new file for a new form').toEqual([]);
    expect(added, `new: append these lines to ${MANIFEST}`).toEqual([]);
  });

  it('there is one for everything that crosses a wire, for each verb, and for each state of a claim', () => {
    const present = new Set(messages.map((file) => file.split('.')[0]));
    const verbs = Object.keys(contract.RPC).map((verb) => `rpc-${kebab(verb)}`);
    expect([...ON_THE_WIRE, ...verbs].filter((name) => !present.has(name))).toEqual([]);
    const claims = contract.ClaimState.options.map((state) => `claim.${state}.json`);
    expect(claims.filter((file) => !messages.includes(file))).toEqual([]);
  });

  it.each(messages)('%s is read by the schema of today, and nothing of it is lost', (file) => {
    const schema = schemaOf(file);
    expect(schema, 'the file name must begin with the name of a schema').toBeDefined();
    const written: unknown = JSON.parse(read(file));
    const parsed = schema?.parse(written);
    expect(parsed).toEqual(
      parsed !== null && typeof parsed === 'object' ? expect.objectContaining(written as object) : written,
    );
    expect(schema?.parse(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed);
  });
});

interface Derived {
  publicKeys: Parameters<typeof createVerifier>[0];
  requestKeys: {
    actor: contract.Actor;
    requestKey: string;
    now: number;
    callId: string;
    taskId: string;
    slot: number;
    shard: number;
  }[];
  canonical: { value: unknown; digest: string }[];
  contracts: { contract: unknown; digest: string; modelDigest: string }[];
  templates: { template: string; args: unknown; text: string }[];
  operations: { scope: string; account: string; operation: string; key: string }[];
  keys: Record<string, string>;
}

describe('what is computed and then stored stays the same', () => {
  const derived = JSON.parse(read(DERIVED)) as Derived;

  it('an old signature still opens', () => {
    const envelope = contract.Envelope.parse(JSON.parse(read('envelope.work.json')));
    const body = createVerifier(derived.publicKeys).open(envelope, contract.WORK_TYPE, 'router');
    expect(contract.WorkBody.parse(JSON.parse(body ?? ''))).toEqual(JSON.parse(read('work-body.run.json')));
  });

  it('RE-1: a retry finds its call after an upgrade', () => {
    for (const { actor, requestKey, now, callId, taskId, slot, shard } of derived.requestKeys) {
      expect(callIdFor(actor, requestKey, now)).toBe(callId);
      expect(taskIdFor(actor, requestKey, now)).toBe(taskId);
      expect([slotOf(callId), shardOf(callId)]).toEqual([slot, shard]);
    }
  });

  it('RE-1: an operation keeps its identity', () => {
    for (const { scope, account, operation, key } of derived.operations) {
      expect(ledger.operationKeyOf(scope, account, operation)).toBe(key);
    }
    for (const { template, args, text } of derived.templates) expect(renderTemplate(template, args)).toBe(text);
  });

  it('digests of values', () => {
    for (const { value, digest } of derived.canonical) expect(digestOf(value)).toBe(digest);
  });

  it('RG-3: digests of contracts, also once the contract has new fields with defaults', () => {
    for (const { contract: original, digest, modelDigest } of derived.contracts) {
      expect(contractDigests(parseContract(original))).toEqual({ digest, modelDigest });
    }
  });

  it('names of records and subjects', () => {
    const [{ callId, taskId } = { callId: '', taskId: '' }] = derived.requestKeys;
    expect({
      call: ledger.callKey('acme', callId),
      claim: ledger.claimKey('cli', 'acme', callId),
      open: ledger.openKey('acme', callId),
      task: ledger.taskKey('acme', taskId),
      tool: ledger.toolKey('workspace.edit_file', '1.0.0'),
      approval: ledger.approvalKey('acme', 'a-1'),
      life: ledger.lifeKey('cli', 'w-1'),
      lease: ledger.leaseKey(3),
      work: ledger.workSubject('cli', 'hi', 'acme'),
    }).toEqual(derived.keys);
  });
});
