import {
  ApprovalStrength,
  CallView,
  ContentBlock,
  ERROR_TYPES,
  Evidence,
  Layer,
  LifeCycle,
  ModelTool,
  ResultStatus,
  RiskGroup,
  SideEffect,
  TaskOutcome,
  TaskRecord,
  ToolError,
  ToolResult,
  ToolSummary,
  VisibleState,
} from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callViewFromWire, callViewToWire, priorityFromWire, priorityToWire } from './convert-call.ts';
import { toolResultFromWire, toolResultToWire } from './convert-result.ts';
import { taskFromWire, taskToWire } from './convert-task.ts';
import { modelToolFromWire, modelToolToWire, toolSummaryFromWire, toolSummaryToWire } from './convert-tool.ts';
import * as wireCall from './gen/toolfabric/v1/call.ts';
import * as wireResult from './gen/toolfabric/v1/result.ts';
import * as wireTask from './gen/toolfabric/v1/task.ts';
import * as wireTool from './gen/toolfabric/v1/tool.ts';

const RUNS = { numRuns: 300 };
const text = fc.string({ maxLength: 40, unit: 'grapheme' });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const size = fc.integer({ min: 1, max: 2 ** 40 });
const base64 = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64'));
/** What `JSON.parse` can give: no negative zero. */
const json = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }).map((value) => JSON.parse(JSON.stringify(value)));
const hex = fc.stringMatching(/^[0-9a-f]{64}$/);
const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(required: T, others: typeof required | object) =>
  fc.record({ ...required, ...others } as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: Object.keys(required) as never[],
  });

const fieldError = optional({ field: text, expected: text }, { got: text, hint: text });
const toolError = optional(
  {
    type: fc.constantFrom(...ERROR_TYPES),
    layer: fc.constantFrom(...Layer.options),
    message: text,
    retryable: fc.boolean(),
  },
  { retryAfterMs: count, hint: text, fields: fc.array(fieldError, { minLength: 1, maxLength: 4 }) },
).map((value) => ToolError.parse(value));
const content = fc
  .oneof(
    fc.record({ type: fc.constant('text'), text }),
    fc.record({ type: fc.constantFrom('image', 'audio'), mediaType: text, dataBase64: base64 }),
    fc.record({ type: fc.constant('file'), name: text, mediaType: text, artifact: text }),
    fc.record({ type: fc.constant('citation'), url: text, text }),
    optional({ type: fc.constant('resource_link'), uri: text }, { name: text }),
    optional({ type: fc.constant('resource'), uri: text, text }, { mediaType: text }),
  )
  .map((value) => ContentBlock.parse(value));
const evidence = optional({ kind: text, ref: text }, { detail: text }).map((value) => Evidence.parse(value));
const truncation = fc.record({
  stream: text,
  kept: count,
  total: count,
  unit: fc.constantFrom('bytes', 'lines', 'items'),
});
const tool = fc.record({ name: text, version: text });
const duration = fc.double({ min: 0, max: 1e12, noNaN: true });
const decision = optional(
  {
    policyVersion: text,
    rule: text,
    limits: optional({ timeoutMs: size, outputBytes: size }, { outputTokens: size }),
  },
  {
    risk: fc.constantFrom(...RiskGroup.options),
    raisedBy: fc.array(text, { minLength: 1, maxLength: 3 }),
    strength: fc.constantFrom(...ApprovalStrength.options),
    resource: text,
    account: text,
  },
);
const toolResult = optional(
  {
    status: fc.constantFrom(...ResultStatus.options),
    summary: text,
    sideEffect: fc.constantFrom(...SideEffect.options),
    trust: fc.constantFrom('trusted', 'untrusted'),
    callId: text,
    tool,
    attempt: fc.nat({ max: 9 }),
  },
  {
    data: json,
    content: fc.array(content, { minLength: 1, maxLength: 4 }),
    error: toolError,
    artifacts: fc.array(text, { minLength: 1, maxLength: 3 }),
    evidence: fc.array(evidence, { minLength: 1, maxLength: 3 }),
    truncation: fc.array(truncation, { minLength: 1, maxLength: 3 }),
    origin: text,
    usage: optional({ durationMs: duration }, { cpuMs: duration }),
    decision,
  },
).map((value) => ToolResult.parse(value));
const callView = optional(
  { callId: text, state: fc.constantFrom(...VisibleState.options), taskId: text, tool, createdAt: count },
  { settledAt: count, reconciling: fc.constant(true), result: toolResult },
).map((value) => CallView.parse(value));

const path = fc.string({ minLength: 1, maxLength: 30 });
const source = fc.oneof(
  fc.record({ type: fc.constantFrom('existing', 'clone'), path }),
  fc.record({ type: fc.constant('empty') }),
);
const label = fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' });
/** A record refuses control characters and line separators here. */
const printable = label.filter((value) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value));
const task = optional(
  {
    taskId: fc.stringMatching(/^t-[0-9a-hjkmnp-tv-z]{26}$/),
    actor: fc.record({ tenant: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}$/), user: label, agent: label }),
    title: printable,
    state: fc.constantFrom('preparing', 'open', 'ended'),
    createdAt: count,
  },
  {
    workspace: fc.record({ id: text, source }),
    outcome: fc.constantFrom(...TaskOutcome.options),
    endedAt: count,
    testCommand: optional(
      { argv: fc.array(printable, { minLength: 1, maxLength: 5 }), sha256: hex },
      { cwd: printable },
    ),
    failure: toolError,
    constraints: optional(
      {},
      {
        writable: fc.array(
          printable.filter((path) => path !== ''),
          { maxLength: 3 },
        ),
        forbiddenHosts: fc.array(fc.constantFrom('a.example', '*.b.example'), { minLength: 1, maxLength: 3 }),
        confirm: fc.array(fc.constantFrom('git.push', 'web.search'), { minLength: 1, maxLength: 3 }),
        limits: optional(
          {},
          {
            timeoutMs: fc.integer({ min: 10, max: 86_400_000 }),
            outputBytes: fc.integer({ min: 256, max: 49_152 }),
            outputTokens: fc.integer({ min: 64, max: 1_000_000 }),
          },
        ),
      },
    ),
    budget: optional(
      {},
      {
        rounds: fc.integer({ min: 1, max: 10_000 }),
        callsPerTurn: fc.integer({ min: 1, max: 1_000 }),
        callsPerToolPerTurn: fc.integer({ min: 1, max: 1_000 }),
        wallMs: fc.integer({ min: 1_000, max: 30 * 86_400_000 }),
        spend: fc.integer({ min: 1, max: 1_000_000_000 }),
      },
    ),
    mode: fc.constantFrom('parallel', 'serial'),
  },
).map((value) => TaskRecord.parse(value));

const name = fc.stringMatching(/^[a-z]{1,8}\.[a-z_]{1,8}$/).filter((value) => !value.includes('._'));
const version = fc.stringMatching(/^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$/);

describe('contract and wire', () => {
  it('FD-1: a result comes back from the wire as it was, the order of keys in data included', () => {
    fc.assert(
      fc.property(toolResult, (result) => {
        const bytes = wireResult.ToolResult.encode(toolResultToWire(result)).finish();
        const back = toolResultFromWire(wireResult.ToolResult.decode(bytes));
        expect(back).toStrictEqual(result);
        expect(JSON.stringify(back.data)).toBe(JSON.stringify(result.data));
        expect(ToolResult.parse(back)).toStrictEqual(result);
      }),
      RUNS,
    );
  });

  it('FD-6: a call comes back from the wire as it was', () => {
    fc.assert(
      fc.property(callView, (view) => {
        const bytes = wireCall.CallView.encode(callViewToWire(view)).finish();
        expect(callViewFromWire(wireCall.CallView.decode(bytes))).toStrictEqual(view);
      }),
      RUNS,
    );
  });

  it('a task comes back from the wire as it was', () => {
    fc.assert(
      fc.property(task, (record) => {
        const bytes = wireTask.Task.encode(taskToWire(record)).finish();
        expect(taskFromWire(wireTask.Task.decode(bytes))).toStrictEqual(record);
      }),
      RUNS,
    );
  });

  it('a tool and its model-facing part come back from the wire as they were', () => {
    const summary = fc
      .record({
        name,
        version,
        state: fc.constantFrom(...LifeCycle.options),
        description: text,
        risk: text,
        digest: hex,
        modelDigest: hex,
        denied: fc.boolean(),
      })
      .map(({ denied, ...value }) => ToolSummary.parse(denied ? { ...value, denied } : value));
    const model = fc
      .record({ name, version, capability: json, input: json, output: json })
      .map((value) => ModelTool.parse(value));
    fc.assert(
      fc.property(summary, model, (line, part) => {
        const bytes = wireTool.ToolSummary.encode(toolSummaryToWire(line)).finish();
        expect(toolSummaryFromWire(wireTool.ToolSummary.decode(bytes))).toStrictEqual(line);
        const partBytes = wireTool.ModelTool.encode(modelToolToWire(part)).finish();
        expect(modelToolFromWire(wireTool.ModelTool.decode(partBytes))).toStrictEqual(part);
      }),
      RUNS,
    );
  });

  it('a priority that is not said is hi', () => {
    expect(priorityFromWire(priorityToWire(undefined))).toBe('hi');
    expect(priorityFromWire(priorityToWire('lo'))).toBe('lo');
    expect(priorityFromWire(priorityToWire('hi'))).toBe('hi');
  });
});
