import type { FileHandle } from 'node:fs/promises';
import type { OpenRoot } from './open-root.ts';

/** Where a walk stands, and every descriptor that it opened. The root is not its own and stays open. */
export class Descent {
  readonly #root: OpenRoot;
  readonly #below: { readonly name: string; readonly handle: FileHandle }[] = [];
  readonly #held = new Set<FileHandle>();

  constructor(root: OpenRoot) {
    this.#root = root;
  }

  get here(): FileHandle {
    return this.#below.at(-1)?.handle ?? this.#root.handle;
  }

  get above(): FileHandle {
    return this.#below.at(-2)?.handle ?? this.#root.handle;
  }

  get names(): string[] {
    return this.#below.map(({ name }) => name);
  }

  /** From now on it is closed with the rest. */
  hold(handle: FileHandle): void {
    this.#held.add(handle);
  }

  async drop(handle: FileHandle): Promise<void> {
    this.#held.delete(handle);
    await handle.close();
  }

  enter(name: string, handle: FileHandle): void {
    this.#below.push({ name, handle });
  }

  /** One level up; false at the root. */
  async leave(): Promise<boolean> {
    const last = this.#below.pop();
    if (last === undefined) return false;
    await this.drop(last.handle);
    return true;
  }

  async close(): Promise<void> {
    const held = [...this.#held];
    this.#held.clear();
    await Promise.all(held.map((handle) => handle.close()));
  }
}
