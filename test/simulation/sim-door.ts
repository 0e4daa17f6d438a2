import type { EgressPermit, EgressRevocation } from '@toolfabric/contract';
import type { Logger } from '@toolfabric/kernel';
import { keepDoorAlive, type RunningLife } from '../../apps/egress/src/life/door-life.ts';
import { storedFloors } from '../../apps/egress/src/life/stored-floors.ts';
import { KIND, SIM_PACE, type SimCluster } from './sim-cluster.ts';
import type { SimProcess } from './sim-process.ts';
import type { World } from './world.ts';

/** One request through the door: what left it arrives unless its connection is reset before. */
interface Sending {
  readonly callId: string;
  readonly epoch: number;
  /** Taken away before it arrived. */
  isReset: boolean;
  /** Its permit is void: nothing more of it may be handed over. */
  isVoid: boolean;
}

/**
 * An egress process. What it has handed to its machine arrives whatever becomes of the process, also after its death;
 * only a reset by the living process takes it back.
 */
export class SimDoor {
  readonly process: SimProcess;
  readonly #world: World;
  readonly #floors: ReturnType<typeof storedFloors>;
  readonly #lives: ReturnType<SimCluster['doorLives']['through']>;
  readonly #log: Logger;
  readonly #sendings = new Set<Sending>();
  readonly #void = new Map<string, number>();
  #isOpen = false;
  #life: RunningLife | undefined;

  constructor(process: SimProcess, cluster: SimCluster, world: World, log: Logger) {
    this.process = process;
    this.#world = world;
    this.#log = log;
    this.#lives = cluster.doorLives.through(process);
    this.#floors = storedFloors(cluster.floors.through(process), this.#lives, process.name);
  }

  /** Resolves with the reason when it must end. */
  async live(): Promise<string> {
    const { process } = this;
    const facts = { incarnation: process.name, kinds: [KIND], clock: process.clock, pace: SIM_PACE, log: this.#log };
    const life = await keepDoorAlive({ ...facts, lives: this.#lives });
    this.#life = life;
    this.#isOpen = true;
    const reason = await life.lost;
    this.#isOpen = false;
    this.#reset(() => true);
    return reason;
  }

  /** Told to stop: everything is closed before it says so. */
  async drain(): Promise<void> {
    this.#isOpen = false;
    this.#reset(() => true);
    await this.#life?.drained();
  }

  /** What a router asks: answered once everything of the call is closed. */
  revoke({ callId, epoch }: EgressRevocation): { closed: number } {
    this.#void.set(callId, Math.max(epoch, this.#void.get(callId) ?? 0));
    if (!this.#world.isDeaf) this.#reset((sending) => sending.callId === callId && sending.epoch <= epoch);
    return { closed: 0 };
  }

  #reset(fits: (sending: Sending) => boolean): void {
    for (const sending of this.#sendings) {
      if (!fits(sending)) continue;
      sending.isVoid = true;
      sending.isReset = true;
      this.#sendings.delete(sending);
    }
  }

  /** Resolves true once the bytes were handed over; false where the permit allows nothing any more. */
  async send(permit: EgressPermit, onArrival: () => void): Promise<boolean> {
    if (!this.#isOpen || (this.#void.get(permit.callId) ?? 0) >= permit.epoch) return false;
    const sending: Sending = { callId: permit.callId, epoch: permit.epoch, isReset: false, isVoid: false };
    this.#sendings.add(sending);
    const floor = this.#world.readsFloors ? await this.#floors.floorOf(permit).catch(() => permit.epoch) : 0;
    if (floor >= permit.epoch || sending.isVoid) return false;
    const { random } = this.#world.scheduler;
    await this.process.clock.sleep(random.between(1, 300));
    if (sending.isVoid || !this.#isOpen) return false;
    const delay = random.chance(0.3) ? random.between(600, 25_000) : random.between(1, 400);
    this.#world.scheduler.after(delay, () => {
      if (!sending.isReset) onArrival();
      this.#sendings.delete(sending);
    });
    return true;
  }
}
