import type { AnyTool } from '@toolfabric/worker-runtime';
import type { Driver } from '../driver.ts';
import { editFileTool } from './edit-file.ts';
import { gitBranchTool } from './git-branch.ts';
import { gitCommitTool } from './git-commit.ts';
import { gitDiffTool } from './git-diff.ts';
import { gitPushTool } from './git-push.ts';
import { gitStatusTool } from './git-status.ts';
import { listFilesTool } from './list-files.ts';
import { prepareWorkspaceTool } from './prepare-workspace.ts';
import { processRunTool } from './process-run.ts';
import { readFileTool } from './read-file.ts';
import { searchCodeTool } from './search-code.ts';
import { shellRunTool } from './shell-run.ts';
import { testRunTool } from './test-run.ts';

/** Every tool of this worker, as a flat list. */
export const createTools = (driver: Driver): readonly AnyTool[] => [
  listFilesTool(driver),
  readFileTool(driver),
  searchCodeTool(driver),
  editFileTool(driver),
  gitStatusTool(driver),
  gitDiffTool(driver),
  gitBranchTool(driver),
  gitCommitTool(driver),
  gitPushTool(driver),
  prepareWorkspaceTool(driver),
  processRunTool(driver),
  testRunTool(driver),
  shellRunTool(driver),
];
