import { withoutComments } from '../boundaries/imports.ts';
import type { SourceFile } from '../boundaries/workspace.ts';

/** Ids of the given families that stand in test files outside comments, with the files that name them. */
export const citedIds = (files: readonly SourceFile[], families: readonly string[]): Map<string, string[]> => {
  const pattern = new RegExp(`\\b(?:${families.join('|')})-[1-9]\\d{0,2}\\b`, 'g');
  const cited = new Map<string, string[]>();
  for (const { path, text } of files) {
    if (!path.endsWith('.test.ts')) continue;
    for (const id of new Set(withoutComments(text).match(pattern))) cited.set(id, [...(cited.get(id) ?? []), path]);
  }
  return cited;
};
