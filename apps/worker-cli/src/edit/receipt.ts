import type { Outcome } from '@toolfabric/contract';
import { fitText } from '../output/fit-text.ts';
import { jsonBytes, OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { fromWorkspace } from '../tools/outcome.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { showPath } from '../workspace/path-parts.ts';
import { ABSENT } from './plan-edit.ts';

export interface Receipt {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly replacements: number;
  /** The diff, or its beginning. */
  readonly diff: string;
  /** Bytes of the whole diff, when `diff` is only its beginning. */
  readonly diffBytes?: number;
  readonly lineEndsCarried?: boolean;
}

const whatHappened = ({ before, path, replacements }: Receipt): string => {
  if (before === ABSENT) return `Made ${showPath(path)}.`;
  return `Replaced ${replacements === 1 ? 'one place' : `${replacements} places`} in ${showPath(path)}.`;
};

/** The proof of an edit (RS-2): the real diff, and the hashes before and after. */
export const receiptOf = (workspace: OpenWorkspace, receipt: Receipt, outputBytes: number): Outcome => {
  const { path, before, after, replacements, diff } = receipt;
  const total = receipt.diffBytes ?? Buffer.byteLength(diff);
  const shown = fitText(diff, outputBytes - OVERHEAD_BYTES - jsonBytes(path));
  const kept = Buffer.byteLength(shown.text);
  const data = {
    path,
    created: before === ABSENT,
    before_sha256: before,
    after_sha256: after,
    replacements,
    diff: shown.text,
    ...(kept < total ? { diff_bytes: total } : {}),
    ...(receipt.lineEndsCarried ? { line_ends: 'crlf' } : {}),
  };
  return fromWorkspace(
    workspace,
    {
      summary: whatHappened(receipt),
      data,
      sideEffect: 'confirmed',
      evidence: [{ kind: 'file', ref: path, detail: `sha256:${before} to sha256:${after}` }],
    },
    kept < total ? [{ stream: 'diff', kept, total, unit: 'bytes' }] : [],
  );
};
