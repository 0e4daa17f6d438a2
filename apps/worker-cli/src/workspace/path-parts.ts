import { FabricError } from '@toolfabric/kernel';

const MOST_BYTES = 4096;
const MOST_PARTS = 256;
const MOST_PART_BYTES = 255;

/**
 * A path as it may stand in a message: bounded, control and direction characters escaped. It is cut between two names,
 * since half of one may hide a secret.
 */
export const showPath = (path: string): string => {
  const escaped = JSON.stringify(path).replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  if (escaped.length <= 200) return escaped;
  return `${escaped.slice(0, escaped.lastIndexOf('/', 196) + 1) || '"'}…"`;
};

export const outside = (path: string): FabricError =>
  new FabricError('path_outside_workspace', `the path ${showPath(path)} leads out of the workspace`);

const misshapen = (expected: string): FabricError =>
  new FabricError('invalid_arguments', 'the path cannot name a file', { fields: [{ field: '/path', expected }] });

/**
 * The parts of a path relative to the workspace root; empty parts and `.` are left out, `..` stays, since only the
 * walk knows what it leads to. Throws `path_outside_workspace` for an absolute path and `invalid_arguments` for what
 * no file can be called.
 */
export const pathParts = (path: string): string[] => {
  if (path.includes('\0')) throw misshapen('a path without NUL');
  if (!path.isWellFormed()) throw misshapen('valid Unicode');
  if (path.startsWith('/')) throw outside(path);
  if (Buffer.byteLength(path) > MOST_BYTES) throw misshapen(`at most ${MOST_BYTES} bytes`);
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length > MOST_PARTS) throw misshapen(`at most ${MOST_PARTS} levels`);
  if (parts.some((part) => Buffer.byteLength(part) > MOST_PART_BYTES)) {
    throw misshapen(`names of at most ${MOST_PART_BYTES} bytes`);
  }
  return parts;
};
