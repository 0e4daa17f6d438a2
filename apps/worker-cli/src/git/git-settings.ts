/** Where the work tree of a workspace is seen by git. */
export const WORK_TREE = '/workspace';

/** Of every git that looks at a workspace or writes its repository: it reads no configuration but what it is given. */
export const GIT_ENV: Readonly<Record<string, string>> = {
  GIT_WORK_TREE: WORK_TREE,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: '',
  GIT_PAGER: 'cat',
};

/** Once more by name, whatever a later git may read from elsewhere. */
export const GIT_SETTINGS: readonly string[] = [
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.pager=cat',
  'core.quotePath=false',
  'core.sshCommand=false',
  'credential.helper=',
  'protocol.allow=never',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
  'status.submoduleSummary=false',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
];

export const settingArgs = (settings: readonly string[]): string[] => settings.flatMap((setting) => ['-c', setting]);
