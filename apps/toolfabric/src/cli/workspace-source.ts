import { resolve } from 'node:path';
import type { WorkspaceSource } from '@toolfabric/contract';
import { UsageError } from './usage-error.ts';

export const WORKSPACE_HELP = 'existing:DIR, clone:DIR or empty';

/** `existing:DIR`, `clone:DIR` or `empty`; the folder is made absolute. */
export const workspaceSource = (text: string): WorkspaceSource => {
  if (text === 'empty') return { type: 'empty' };
  const at = text.indexOf(':');
  const type = text.slice(0, at);
  const path = text.slice(at + 1);
  if ((type !== 'existing' && type !== 'clone') || path === '') {
    throw new UsageError(`--workspace ${text}: give ${WORKSPACE_HELP}`);
  }
  return { type, path: resolve(path) };
};
