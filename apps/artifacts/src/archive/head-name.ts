import { shortHash } from '@toolfabric/kernel';

/** The document of a workspace's head; ids of workspaces are free text and never become a path. */
export const headName = (workspace: string): string => `h-${shortHash('head', workspace)}`;
