import type { FabricEvent, ToolResult } from '@toolfabric/contract';

const exitCodeOf = (data: ToolResult['data']): number | undefined => {
  const code = data !== null && typeof data === 'object' && !Array.isArray(data) ? data['exit_code'] : undefined;
  return typeof code === 'number' && Number.isInteger(code) ? code : undefined;
};

const bytesOf = ({ data, content }: ToolResult): number =>
  data === undefined && content === undefined ? 0 : Buffer.byteLength(JSON.stringify([data, content]));

/** Bytes that were left out of the output, of every stream that is counted in bytes. */
const leftOut = ({ truncation = [] }: ToolResult): number =>
  truncation.reduce((sum, { unit, kept, total }) => sum + (unit === 'bytes' ? Math.max(0, total - kept) : 0), 0);

/** Numbers and words about a result, and nothing of what it says. */
export const resultAttributes = (result: ToolResult | undefined): FabricEvent['attributes'] => {
  if (result === undefined) return { sideEffect: 'none', attempt: 0, error: '', errorLayer: '' };
  const { error, truncation = [], artifacts = [], usage } = result;
  const exitCode = exitCodeOf(result.data);
  return {
    sideEffect: result.sideEffect,
    attempt: result.attempt,
    error: error?.type ?? '',
    errorLayer: error?.layer ?? '',
    trust: result.trust,
    resultBytes: bytesOf(result),
    truncated: truncation.length > 0,
    truncatedTotal: leftOut(result),
    artifacts: artifacts.length,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(usage === undefined ? {} : { executionMs: usage.durationMs }),
    ...(usage?.cpuMs === undefined ? {} : { cpuMs: usage.cpuMs }),
  };
};
