import { type Claim, type Envelope, type ResultMessage, WORK_TYPE, type WorkBody } from '@toolfabric/contract';
import {
  createSigner,
  createVerifier,
  type Pace,
  type PublicKeyEntry,
  randomId,
  type Signer,
  silentLogger,
} from '@toolfabric/kernel';
import { type ClaimMove, changeRecord, claimKey, lifeKey, moveClaim, workSubject } from '@toolfabric/ledger';
import type { LedgerPorts, WorkerPorts } from '@toolfabric/ports';
import type { AnyTool } from '../define-tool.ts';
import { type RunningWorker, runWorker, type WorkerOptions } from '../run-worker.ts';
import { systemClock } from './hurried-clock.ts';

export interface RigParts {
  readonly router: LedgerPorts;
  readonly ports: WorkerPorts;
  readonly signing: {
    readonly kid: string;
    readonly privateKey: string;
    readonly publicKeys: readonly PublicKeyEntry[];
  };
  readonly pace: Pace;
}

export interface Sent {
  readonly callId: string;
  readonly sequence: number;
}

const WEEK = Math.floor(Date.now() / 604_800_000);
export const newCallId = (): string => `${WEEK}-${randomId()}`;

/** For tests: one worker of the kind `cli` on a real bus, and the router's side of its calls in the hands of the test. */
export class Rig {
  readonly #parts: RigParts;
  readonly #signer: Signer;
  readonly #workers: RunningWorker[] = [];

  constructor(parts: RigParts) {
    this.#parts = parts;
    this.#signer = createSigner(parts.signing.kid, parts.signing.privateKey);
  }

  body(changes: Partial<WorkBody> = {}): WorkBody {
    const now = Date.now();
    return {
      subject: workSubject('cli', 'hi', 'acme'),
      kind: 'cli',
      tenant: 'acme',
      callId: newCallId(),
      epoch: 1,
      mode: 'run',
      actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
      taskId: 't-1',
      tool: { name: 'test.tool', version: '1.0.0', digest: 'd' },
      handler: 'tool',
      effect: 'outside',
      claim: 'required',
      rerunnable: false,
      args: {},
      argsHash: 'h',
      decision: { policyVersion: 'p', rule: 'r', limits: { timeoutMs: 20_000, outputBytes: 4_096 } },
      deadline: now + 60_000,
      expires: now + 60_000,
      ...changes,
    };
  }

  sign(body: WorkBody): Envelope {
    return this.#signer.sign(WORK_TYPE, JSON.stringify(body));
  }

  /** Publishes a signed message; the same call may be sent several times. */
  async send(changes: Partial<WorkBody> = {}): Promise<Sent> {
    const body = this.body(changes);
    const { sequence } = await this.sendRaw(JSON.stringify(this.sign(body)), body.subject);
    return { callId: body.callId, sequence };
  }

  async sendRaw(text: string, subject = workSubject('cli', 'hi', 'acme')): Promise<{ sequence: number }> {
    return this.#parts.router.work.publish('cli', subject, randomId(), Buffer.from(text));
  }

  async start(tools: readonly AnyTool[], options: Partial<WorkerOptions> = {}): Promise<RunningWorker> {
    const worker = await runWorker({
      kind: 'cli',
      ports: this.#parts.ports,
      tools,
      verifier: createVerifier(this.#parts.signing.publicKeys),
      pace: this.#parts.pace,
      slots: 4,
      isolation: ['process'],
      log: silentLogger,
      ...options,
    });
    this.#workers.push(worker);
    return worker;
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map((worker) => worker.stop()));
  }

  async claim(callId: string): Promise<Claim | undefined> {
    return (await this.#parts.router.claims('cli').get(claimKey('cli', 'acme', callId)))?.value;
  }

  /** One of the router's moves; throws where the protocol does not allow it. */
  async move(callId: string, move: ClaimMove): Promise<Claim> {
    const store = this.#parts.router.claims('cli');
    const key = claimKey('cli', 'acme', callId);
    const change = await changeRecord(store, key, (claim) => moveClaim(claim, move), { clock: systemClock });
    if (!change.done) throw new Error(`${move.type} is not allowed from ${change.current?.value.state ?? 'absent'}`);
    return change.value;
  }

  result(callId: string, epoch = 1): Promise<ResultMessage | undefined> {
    return this.#parts.router.results.get('cli', 'acme', callId, epoch);
  }

  /** Whether the message is still in the stream. */
  has(sequence: number): Promise<boolean> {
    return this.#parts.router.work.has('cli', sequence);
  }

  async life(incarnation: string) {
    return (await this.#parts.router.lives('cli').get(lifeKey('cli', incarnation)))?.value;
  }

  /** What a router stores when it saw no renewal. */
  async declareDead(incarnation: string): Promise<void> {
    const change = await changeRecord(
      this.#parts.router.lives('cli'),
      lifeKey('cli', incarnation),
      (life) => life && { ...life, state: 'dead' as const },
      { clock: systemClock },
    );
    if (!change.done) throw new Error('there is no such life');
  }

  ring(callId: string): void {
    this.#parts.router.bells.ring('cli', callId);
  }
}
