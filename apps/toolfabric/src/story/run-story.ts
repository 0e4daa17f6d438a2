import { connectFabric, type FabricClient } from '@toolfabric/client';
import { FabricError, type Json, systemClock } from '@toolfabric/kernel';
import type { ClientFile } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import type { Output } from '../cli/output.ts';
import { StoryMismatch } from './checks.ts';
import { makeSampleRepository, sampleFolder } from './sample-repository.ts';
import { STEPS, type Step, type StepEnd, type Story, TRACE_STEP } from './steps.ts';

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
      {
        title: 'story: free shipping by mistake',
        workspace: { type: 'clone', path: sampleFolder(stateDir) },
        testCommand: { argv: ['node', '--test'] },
      },
      { signal },
    );
    output.show(
      { event: 'task', taskId: task.taskId },
      `story: task ${task.taskId} on a clone of the sample repository`,
    );
    const story = storyOf(fabric, task.taskId, signal);
    const tell = async (step: Step) => {
      const began = performance.now();
      const told = await step.run(story);
      tellStep(step.name, performance.now() - began, told, output);
    };
    for (const step of STEPS) await tell(step);
    if (await hasTraces(fabric, signal)) await tell(TRACE_STEP);
    else output.note('story: no trace store here; see `toolfabric doctor`');
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

const TRACE_MS = 20_000;
const LOOK_AGAIN_MS = 100;

/** A trace is written a moment after its call; one that never comes is told as it was seen last. */
const traceOf = async (fabric: FabricClient, callId: string, signal: AbortSignal) => {
  const until = systemClock.monotonic() + TRACE_MS;
  for (;;) {
    const trace = await fabric.getTrace(callId, { signal });
    const isWhole = trace.call !== undefined && trace.spans.some(({ service }) => service.startsWith('worker'));
    if (isWhole || systemClock.monotonic() > until) return trace;
    await systemClock.sleep(LOOK_AGAIN_MS, signal);
  }
};

async function* logOf(fabric: FabricClient, callId: string, signal: AbortSignal) {
  const decoder = new TextDecoder();
  for await (const { data, complete } of fabric.readCallLog(callId, { follow: true, signal })) {
    const text = decoder.decode(data, { stream: !complete });
    if (text !== '') yield text;
  }
}

const storyOf = (fabric: FabricClient, taskId: string, signal: AbortSignal): Story => ({
  memory: {},
  call: (tool: string, args: Record<string, Json>) => fabric.call({ taskId, tool, args }, { signal }),
  background: (tool: string, args: Record<string, Json>) =>
    fabric.startCall({ taskId, tool, args, background: true }, { signal }),
  log: (callId) => logOf(fabric, callId, signal),
  get: (callId) => fabric.getCall(callId, { signal }),
  trace: (callId) => traceOf(fabric, callId, signal),
});

/** A store that is only starting is waited for; one that is not there is not. */
const hasTraces = async (fabric: FabricClient, signal: AbortSignal): Promise<boolean> => {
  const until = systemClock.monotonic() + TRACE_MS;
  for (;;) {
    try {
      await fabric.listCalls({ limit: 1 }, { signal, timeoutMs: TRACE_MS });
      return true;
    } catch (thrown) {
      if (thrown instanceof FabricError && thrown.type === 'not_configured') return false;
      if (!(thrown instanceof FabricError && thrown.type === 'traces_unavailable')) throw thrown;
      if (systemClock.monotonic() > until) return false;
      await systemClock.sleep(LOOK_AGAIN_MS, signal);
    }
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
