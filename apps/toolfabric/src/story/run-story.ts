import { connectFabric } from '@toolfabric/client';
import { FabricError, type Json } from '@toolfabric/kernel';
import type { ClientFile } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import type { Output } from '../cli/output.ts';
import { StoryMismatch } from './checks.ts';
import { makeSampleRepository, sampleFolder } from './sample-repository.ts';
import { STEPS, type StepEnd, type Story } from './steps.ts';

export interface StoryOptions {
  readonly client: ClientFile;
  readonly stateDir: string;
  readonly git: string | undefined;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/**
 * A small piece of work on the sample repository, through the public door and nothing else. One line a call; exit code
 * 0 when every step came out as told, 1 otherwise.
 */
export const runStory = async ({ client, stateDir, git, output, signal }: StoryOptions): Promise<number> => {
  const fabric = connectFabric(client);
  try {
    await makeSampleRepository(sampleFolder(stateDir), git);
    const task = await fabric.createTask(
      { title: 'story: free shipping by mistake', workspace: { type: 'clone', path: sampleFolder(stateDir) } },
      { signal },
    );
    output.show(
      { event: 'task', taskId: task.taskId },
      `story: task ${task.taskId} on a clone of the sample repository`,
    );
    const story: Story = {
      memory: {},
      call: (tool: string, args: Record<string, Json>) => fabric.call({ taskId: task.taskId, tool, args }, { signal }),
    };
    for (const step of STEPS) {
      const began = performance.now();
      const told = await step.run(story);
      tellStep(step.name, performance.now() - began, told, output);
    }
    await fabric.endTask(task.taskId, 'succeeded', { signal });
    output.show({ event: 'story', outcome: 'ok' }, 'story: everything came out as told');
    return EXIT.ok;
  } catch (thrown) {
    if (!(thrown instanceof StoryMismatch || thrown instanceof FabricError)) throw thrown;
    output.show({ event: 'story', outcome: 'failed', reason: thrown.message }, `story: FAILED: ${thrown.message}`);
    return EXIT.toolError;
  } finally {
    fabric.close();
  }
};

/** Name, status, duration as the caller saw it, proof, call id; then what the step wants to show. */
const tellStep = (name: string, tookMs: number, { call, shows }: StepEnd, output: Output): void => {
  const { result, state } = call;
  const status = result?.error?.type ?? state;
  const evidence = (result?.evidence ?? []).map(({ kind, ref }) => `${kind} ${ref}`).slice(0, 2);
  const took = `${Math.round(tookMs)} ms`.padStart(7);
  const line = [name.padEnd(24), status.padEnd(18), took, call.callId, evidence.join(', ')].join('  ');
  output.show(
    { event: 'step', name, status, tookMs: Math.round(tookMs), call },
    [line.trimEnd(), ...shows.map((text) => `    ${text}`)].join('\n'),
  );
};
