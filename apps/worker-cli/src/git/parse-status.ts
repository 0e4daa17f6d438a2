/** One path that is not as in the last commit. */
export interface StatusEntry {
  readonly path: string;
  readonly state: 'changed' | 'renamed' | 'unmerged' | 'untracked';
  /** What was added to the index, in git's letters; `.` for nothing. */
  readonly index: string;
  /** What is only in the working tree. */
  readonly worktree: string;
  readonly from?: string;
}

export interface BranchState {
  commit?: string;
  branch?: string;
  upstream?: string;
}

type Parsed = StatusEntry | { readonly needsFrom: StatusEntry };

const HEADER = /^# branch\.(oid|head|upstream) (.*)$/s;

const changed = (record: string): StatusEntry | undefined => {
  const [, index = '', worktree = '', path] = /^1 (.)(.) \S+ \S+ \S+ \S+ \S+ \S+ (.*)$/s.exec(record) ?? [];
  return path === undefined ? undefined : { path, state: 'changed', index, worktree };
};

const renamed = (record: string): Parsed | undefined => {
  const [, index = '', worktree = '', path] = /^2 (.)(.) \S+ \S+ \S+ \S+ \S+ \S+ \S+ (.*)$/s.exec(record) ?? [];
  return path === undefined ? undefined : { needsFrom: { path, state: 'renamed', index, worktree } };
};

const unmerged = (record: string): StatusEntry | undefined => {
  const [, index = '', worktree = '', path] = /^u (.)(.) (?:\S+ ){8}(.*)$/s.exec(record) ?? [];
  return path === undefined ? undefined : { path, state: 'unmerged', index, worktree };
};

const untracked = (record: string): StatusEntry | undefined =>
  record.startsWith('? ') ? { path: record.slice(2), state: 'untracked', index: '.', worktree: '?' } : undefined;

/** Reads `git status --porcelain=v2 --branch -z`, record by record. */
export class StatusReader {
  readonly branch: BranchState = {};
  readonly entries: StatusEntry[] = [];
  readonly counts = { changed: 0, renamed: 0, unmerged: 0, untracked: 0 };
  readonly #most: number;
  #renamed: StatusEntry | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  record(text: string): void {
    if (this.#renamed !== undefined) {
      this.#add({ ...this.#renamed, from: text });
      this.#renamed = undefined;
      return;
    }
    const [, field, value = ''] = HEADER.exec(text) ?? [];
    if (field === 'oid' && value !== '(initial)') this.branch.commit = value;
    else if (field === 'head' && value !== '(detached)') this.branch.branch = value;
    else if (field === 'upstream') this.branch.upstream = value;
    else if (field === undefined) this.#entry(changed(text) ?? renamed(text) ?? unmerged(text) ?? untracked(text));
  }

  #entry(parsed: Parsed | undefined): void {
    if (parsed === undefined) return;
    if ('needsFrom' in parsed) this.#renamed = parsed.needsFrom;
    else this.#add(parsed);
  }

  #add(entry: StatusEntry): void {
    this.counts[entry.state] += 1;
    if (this.entries.length < this.#most) this.entries.push(entry);
  }
}
