/** How an option takes its value: not at all, always, or only when it is attached. */
export type Takes = 'none' | 'value' | 'attached';

export interface OptionRule {
  /** The name that is passed on: the last of its names, so the long one where there is one. */
  readonly name: string;
  readonly takes: Takes;
}

const TAKES: Readonly<Record<string, Takes>> = { '': 'none', '=': 'value', '=?': 'attached' };

/**
 * Options out of a table such as `-n,--lines= -q,--quiet --color=?`: names of one option with commas between them; `=`
 * after them when it takes a value, `=?` when it takes one that is attached or none.
 */
export const parseOptions = (table: string): ReadonlyMap<string, OptionRule> => {
  const rules = new Map<string, OptionRule>();
  for (const entry of table.split(/\s+/).filter((part) => part !== '')) {
    const [, names = '', mark = ''] = /^(.*?)(=\??)?$/.exec(entry) ?? [];
    const all = names.split(',');
    const rule = { name: all.at(-1) ?? names, takes: TAKES[mark] ?? 'none' };
    for (const name of all) rules.set(name, rule);
  }
  return rules;
};
