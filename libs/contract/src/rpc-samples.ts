import {
  actor,
  approval,
  approver,
  args,
  artifactId,
  at,
  batched,
  budget,
  callId,
  constraints,
  contractOf,
  permit,
  proof,
  sha,
  task,
  taskId,
  tool,
  unknownCall,
  view,
  workspace,
} from './sample-values.ts';
import { WIRE_SAMPLES } from './wire-samples.ts';

const owned = { actor, callId };
const summary = WIRE_SAMPLES.find(([schema]) => schema === 'ToolSummary')?.[2];
const modelTool = WIRE_SAMPLES.find(([schema]) => schema === 'ModelTool')?.[2];
const fullCall = WIRE_SAMPLES.find(([schema]) => schema === 'CallRequest')?.[2];

/** One request and one reply of every verb. */
export const RPC_SAMPLES: Readonly<Record<string, { readonly request: unknown; readonly reply: unknown }>> = {
  call: { request: fullCall, reply: view },
  getCall: { request: owned, reply: view },
  cancelCall: { request: owned, reply: view },
  createTask: {
    request: {
      actor,
      requestKey: '019e0000-0000-7000-8000-000000000000',
      title: 'Mend',
      workspace: workspace.source,
      testCommand: { argv: ['node', '--test'], cwd: 'packages/shop' },
      constraints,
      budget,
      mode: 'serial',
    },
    reply: task,
  },
  getTask: { request: { actor, taskId }, reply: task },
  widenTask: {
    request: { approver, taskId, writable: ['docs/**'], hosts: ['*.example.com'], note: 'for the report' },
    reply: task,
  },
  endTask: { request: { actor, taskId, outcome: 'failed' }, reply: task },
  permitArtifact: {
    request: { actor, action: 'read', artifactId, callId },
    reply: { permit, artifactId, attempt: 2 },
  },
  listApprovals: {
    request: { approver, decided: true, since: 7, after: 'a-2', limit: 10 },
    reply: { approvals: [approval], revision: 8, next: 'a-3' },
  },
  getApproval: { request: { approver, approvalId: 'a-3' }, reply: approval },
  decideApproval: {
    request: { approver, approvalId: 'a-3', verdict: 'deny', reason: 'not today' },
    reply: approval,
  },
  editApproval: {
    request: {
      approver,
      approvalId: 'a-3',
      requestKey: '019e0000-0000-7000-8000-000000000000',
      args,
      reason: 'the wrong file',
    },
    reply: { approval, replaced: { ...approval, state: 'denied', replacedBy: callId }, call: view },
  },
  decideBatch: {
    request: {
      approver,
      callIds: [callId],
      scope: 'github:repo:shop/checkout',
      risk: 'external_write',
      until: at + 600_000,
      reason: 'today only',
    },
    reply: { batchId: 'b-1', outcomes: [batched] },
  },
  listUnknown: {
    request: { approver, after: callId, limit: 20 },
    reply: { unknown: [unknownCall], next: callId },
  },
  getUnknown: { request: { approver, callId }, reply: unknownCall },
  resolveUnknown: {
    request: { approver, callId, resolution: 'happened', evidence: proof, note: 'seen in the tracker' },
    reply: view,
  },
  listTools: { request: { actor, allStates: true }, reply: { tools: [summary], catalogueDigest: sha } },
  describeTool: { request: { actor, tool: 'workspace.edit_file' }, reply: { summary, model: modelTool } },
  putDraft: { request: { actor, rights: ['publish'], contract: contractOf }, reply: summary },
  moveTool: {
    request: { actor, rights: ['publish'], name: tool.name, version: '1.0.0', to: 'retired' },
    reply: summary,
  },
};
