import { FabricError, sha256Hex } from '@toolfabric/kernel';
import { mayAccess, notPermitted } from '../workspace/access.ts';
import { readWhole } from '../workspace/file-content.ts';
import { findPlace } from '../workspace/find-place.ts';
import type { OpenRoot } from '../workspace/open-root.ts';
import { showPath } from '../workspace/path-parts.ts';
import { type Entry, type Place, pathOf } from '../workspace/place.ts';
import { isTemporaryName, refuseDeceptiveNames, refuseGitDirectory } from '../workspace/reserved-names.ts';
import { applyEdit } from './apply-edit.ts';
import { decodeText } from './decode-text.ts';
import { unifiedDiff } from './unified-diff.ts';

export interface EditArgs {
  readonly path: string;
  readonly old_text: string;
  readonly new_text: string;
  /** A SHA-256, or `absent` for a file that does not exist yet. */
  readonly expected_sha256: string;
  readonly replace_all: boolean;
}

/** Everything about an edit that can be known before its first byte is written. */
export interface EditPlan {
  readonly path: string;
  /** SHA-256 of the file before, or `absent`. */
  readonly before: string;
  readonly after: string;
  readonly content: Buffer;
  readonly mode: number;
  /** Of the file that is replaced; undefined for a new one. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  readonly replacements: number;
  readonly lineEndsCarried: boolean;
  readonly diff: string;
}

export const ABSENT = 'absent';
/** Bytes of the largest file that is edited. */
export const MOST_BYTES = 4 * 1024 * 1024;
const NEW_FILE_MODE = 0o644;

const checkArgs = (args: EditArgs): void => {
  const field = (name: string, expected: string) =>
    new FabricError('invalid_arguments', `${name} does not fit`, { fields: [{ field: `/${name}`, expected }] });
  if (args.old_text === args.new_text) throw field('new_text', 'a text that differs from old_text');
  if (!args.old_text.isWellFormed()) throw field('old_text', 'valid Unicode');
  if (!args.new_text.isWellFormed() || args.new_text.includes('\0')) throw field('new_text', 'valid Unicode, no NUL');
  if (args.expected_sha256 === ABSENT && args.old_text !== '') {
    throw field('old_text', 'an empty text, since the file is to be made');
  }
};

const checkSize = (content: Buffer): Buffer => {
  if (content.length <= MOST_BYTES) return content;
  throw new FabricError('too_large', `the file would be larger than the ${MOST_BYTES} bytes that this tool edits`);
};

const planNew = (place: Place, args: EditArgs): EditPlan => {
  const path = pathOf(place);
  if (args.expected_sha256 !== ABSENT) {
    throw new FabricError('file_not_found', `there is no ${showPath(path)} in the workspace`);
  }
  refuseDeceptiveNames([...place.missing, place.name]);
  const content = checkSize(Buffer.from(args.new_text));
  return {
    path,
    before: ABSENT,
    after: sha256Hex(content),
    content,
    mode: NEW_FILE_MODE,
    owner: undefined,
    replacements: 1,
    lineEndsCarried: false,
    diff: unifiedDiff({ path, before: undefined, after: args.new_text }),
  };
};

const planChange = async (root: OpenRoot, place: Place & { entry: Entry }, args: EditArgs): Promise<EditPlan> => {
  const path = pathOf(place);
  const { stats } = place.entry;
  const found = await readWhole(place, MOST_BYTES);
  if (found.sha256 !== args.expected_sha256) {
    throw new FabricError('stale_version', `${showPath(path)} is not what expected_sha256 says`);
  }
  if (!mayAccess(stats, root.owner, 'write')) throw notPermitted('write it');
  const before = decodeText(found.bytes, showPath(path));
  const edit = { oldText: args.old_text, newText: args.new_text, replaceAll: args.replace_all };
  const { text, replacements, carriedToCrlf } = applyEdit(before, edit);
  const content = checkSize(Buffer.from(text));
  return {
    path,
    before: found.sha256,
    after: sha256Hex(content),
    content,
    mode: stats.mode & 0o777,
    owner: { uid: stats.uid, gid: stats.gid },
    replacements,
    lineEndsCarried: carriedToCrlf,
    diff: unifiedDiff({ path, before, after: text }),
  };
};

/** Reads, checks and computes; writes nothing. Every refusal of an edit is thrown here, before any effect. */
export const planEdit = async (root: OpenRoot, args: EditArgs): Promise<EditPlan> => {
  checkArgs(args);
  const place = await findPlace(root, args.path);
  try {
    refuseGitDirectory(place.parts);
    const { entry } = place;
    if (isTemporaryName(place.name) || place.parts.length === 0) {
      throw new FabricError('not_a_file', `${showPath(args.path)} is not a file of the workspace`);
    }
    if (entry === undefined) return planNew(place, args);
    if (entry.kind !== 'file') throw new FabricError('not_a_file', `${showPath(args.path)} is not a regular file`);
    if (args.expected_sha256 === ABSENT)
      throw new FabricError('stale_version', `${showPath(args.path)} exists already`);
    return await planChange(root, { ...place, entry }, args);
  } finally {
    await place.close();
  }
};
