import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sampleFolder } from '../story/sample-repository.ts';
import { documentsOf, foldersOf } from './services.ts';
import { stateFiles } from './state-dir.ts';

const files = stateFiles('/home/me/dev/x/.toolfabric');

describe('the folders that the worker is told', () => {
  it('CL-6: the whole state folder is protected, and nothing in it can be cloned', () => {
    expect(foldersOf({ files, roots: ['/home/me/dev', '/srv'] })).toEqual({
      TOOLFABRIC_STATE_DIR: '/home/me/dev/x/.toolfabric/workspaces',
      TOOLFABRIC_WORKSPACE_ROOTS: '/home/me/dev:/srv',
      TOOLFABRIC_PROTECTED_DIRS: '/home/me/dev/x/.toolfabric',
      TOOLFABRIC_CLONE_SOURCES: '',
    });
  });

  it('the story can clone its sample', () => {
    const sample = sampleFolder(files.root);
    expect(foldersOf({ files, roots: [sample] })).toMatchObject({
      TOOLFABRIC_PROTECTED_DIRS: files.root,
      TOOLFABRIC_CLONE_SOURCES: sample,
    });
  });

  it('refuses a folder that would be read as two', () => {
    expect(() => foldersOf({ files: stateFiles('/a:/b'), roots: [] })).toThrow('"/a:/b"');
    expect(() => foldersOf({ files, roots: ['/a:/b'] })).toThrow('"/a:/b"');
  });
});

describe('the documents that a search looks through', () => {
  it('WB-1: are a folder for the own tenant, made in the state folder, unless another one was given', () => {
    const root = mkdtempSync(join(tmpdir(), 'documents-'));
    const own = stateFiles(root);
    try {
      expect(documentsOf({ files: own, passedOn: { TOOLFABRIC_SEARCH_FOLDER: '/srv/documents' } })).toEqual({});
      expect(existsSync(own.documents)).toBe(false);
      expect(documentsOf({ files: own, passedOn: {} })).toEqual({ TOOLFABRIC_SEARCH_FOLDER: join(root, 'documents') });
      expect(existsSync(join(root, 'documents', 'local'))).toBe(true);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});
