import type { Trace } from '@toolfabric/client';
import type { SpanRecord } from '@toolfabric/contract';

const ms = (microseconds: number): string => {
  const value = microseconds / 1_000;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
};

interface Node {
  readonly span: SpanRecord;
  readonly children: Node[];
}

/** Spans below the spans that caused them; one whose parent is not among them stands at the top. */
const treeOf = (spans: readonly SpanRecord[]): Node[] => {
  const nodes = new Map(spans.map((span) => [span.spanId, { span, children: [] as Node[] }]));
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = node.span.parentSpanId === undefined ? undefined : nodes.get(node.span.parentSpanId);
    (parent === undefined || parent === node ? roots : parent.children).push(node);
  }
  const byStart = (a: Node, b: Node) => a.span.startUs - b.span.startUs;
  for (const node of nodes.values()) node.children.sort(byStart);
  return roots.sort(byStart);
};

const MOST_DEPTH = 32;

const drawNode = (node: Node, startUs: number, indent: string, depth: number): string[] => {
  const { span, children } = node;
  const failed = span.status === 'error' ? '  ERROR' : '';
  const line = `${indent}${span.name}  [${span.service}]`.padEnd(56);
  const drawn = `${line} +${ms(span.startUs - startUs).padStart(8)}  ${ms(span.endUs - span.startUs).padStart(8)}${failed}`;
  if (depth >= MOST_DEPTH) return [drawn];
  return [drawn, ...children.flatMap((child) => drawNode(child, startUs, `${indent}  `, depth + 1))];
};

const TOLD = [
  ...['state', 'rule', 'epoch', 'attempt', 'error', 'artifact', 'sideEffect'],
  ...['incarnation', 'claim', 'workspace', 'from', 'to', 'asked', 'status'],
  ...['account', 'verdict', 'reason', 'method', 'host', 'credential'],
] as const;

const eventLine = ({ at, type, service, attributes }: Trace['events'][number], startMs: number): string => {
  const details = TOLD.filter((name) => attributes[name] !== undefined && attributes[name] !== '').map(
    (name) => `${name}=${attributes[name]}`,
  );
  return `  +${String(at - startMs).padStart(7)} ms  ${type.padEnd(22)} ${service.padEnd(12)} ${details.join(' ')}`.trimEnd();
};

const SHOWN_CHARACTERS = 600;

/** One call as a person reads it: decision and end, the tree of its spans, its events, its redacted payloads. */
export const drawTrace = (callId: string, { call, events, spans, payloads, cut }: Trace): string => {
  if (call === undefined && events.length === 0 && spans.length === 0) return `${callId}: nothing is stored yet`;
  const lines: string[] = [];
  if (call !== undefined) {
    lines.push(
      `${call.callId}  ${call.tool}@${call.version}  ${call.state}  ${Math.round(call.durationMs)} ms`,
      `asked by ${call.user} / ${call.agent} in ${call.taskId}`,
      `decision ${call.rule}, attempt ${call.attempt}, side effect ${call.sideEffect}${call.errorType === '' ? '' : `, error ${call.errorType}`}`,
      `${call.artifacts} artifacts${call.truncated ? ', output was cut' : ''}`,
    );
  } else lines.push(`${callId}  has not ended yet`);
  const roots = treeOf(spans);
  const startUs = Math.min(...spans.map((span) => span.startUs));
  if (roots.length > 0) lines.push('', 'spans (start, length):');
  lines.push(...roots.flatMap((root) => drawNode(root, startUs, '  ', 0)));
  const startMs = Math.min(...events.map(({ at }) => at));
  if (events.length > 0) lines.push('', 'events:');
  lines.push(...[...events].sort((a, b) => a.at - b.at).map((event) => eventLine(event, startMs)));
  for (const { kind, text, bytes, cut: isCut } of payloads) {
    const shown = text.slice(0, SHOWN_CHARACTERS);
    const more = isCut || shown.length < text.length ? ` … (${bytes} bytes)` : '';
    lines.push('', `${kind}: ${shown}${more}`);
  }
  if (cut) lines.push('', 'more events or spans are stored than an answer holds');
  return lines.join('\n');
};
