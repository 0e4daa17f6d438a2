import type { FabricClient } from '@toolfabric/client';
import type { TaskConstraints, WorkBody } from '@toolfabric/contract';
import type { AppName, Cluster } from '../support/cluster.ts';

/** One proposal. */
export interface Action {
  readonly tool: string;
  readonly args: WorkBody['args'];
}

/** What the suite does with one adapter; every part works on the real outside thing. */
export interface Rig {
  readonly taskId: string;
  /** Another task over the same outside thing, which keeps to these. */
  taskUnder(constraints: TaskConstraints): Promise<string>;
  /** Ends `ok` and changes nothing. */
  readonly read: Action;
  /** Arguments that its schema refuses, and the field that is at fault. */
  readonly malformed: { readonly action: Action; readonly field: string };
  /** Changes the outside thing under that name, once each time that it runs. */
  write(identity: string): Action;
  /** How often that really happened, asked of the outside thing itself. */
  happened(identity: string): number;
  /** A write that is under way for longer than anybody waits; `begun` says that the outside thing knows of it. */
  slowWrite(identity: string): Promise<Action>;
  begun(identity: string): boolean;
  /** Nothing of it goes on in the outside thing. */
  hasStopped(identity: string): boolean;
  /** Undoes what `slowWrite` has arranged. */
  calm(): Promise<void>;
  /** Says the text back. */
  echo(text: string): Promise<Action>;
  /** Answers with more than its contract lets it say; undefined where the outside thing has no such answer. */
  readonly loud: Action | undefined;
  /** A write that waits for a person each time. */
  asking(identity: string): Action;
  /** How often that really happened, asked of the outside thing itself. */
  asked(identity: string): number;
  /** Where its content comes from. */
  readonly origin: RegExp;
}

/** An adapter, as the suite takes it for a parameter. */
export interface AdapterUnderTest {
  readonly name: string;
  /** The pool that runs its tools. */
  readonly kind: string;
  readonly worker: AppName;
  /** What it needs beside router, gateway, artifact store and its worker. */
  readonly services: readonly AppName[];
  /** A fault of its worker between the effect and the receipt. */
  readonly loseReceipt: string;
  /** The tool of `write`, which the policy of one tenant forbids. */
  readonly writeTool: string;
  /** What its tenant has to permit, so that a person is asked about the write that asks. */
  readonly policy?: string;
  /** What has to be there before the router starts, such as its tools. */
  prepare?(cluster: Cluster): Promise<void>;
  rig(cluster: Cluster, client: FabricClient): Promise<Rig>;
}
