/** Rules of one site that are looked at. */
const MAX_RULES = 5_000;
/** Wildcards of all of them together: each may be tried at every character of an address. */
const MAX_WILDCARDS = 2_000;

interface Rule {
  readonly isAllowed: boolean;
  readonly pattern: string;
}

const fieldOf = (line: string): readonly [name: string, value: string] => {
  const bare = line.split('#', 1)[0] ?? '';
  const at = bare.indexOf(':');
  return at < 0 ? ['', ''] : [bare.slice(0, at).trim().toLowerCase(), bare.slice(at + 1).trim()];
};

/** The group that names this agent, else that of everybody; several groups of one name count as one (RFC 9309, 2.2.1). */
const groupFor = (text: string, agent: string): readonly Rule[] => {
  const everybody: Rule[] = [];
  let own: Rule[] | undefined;
  let concerned = new Set<Rule[]>();
  let isNaming = false;
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|[\r\n]/)) {
    const [name, value] = fieldOf(line);
    if (name === '') continue;
    if (name === 'user-agent') {
      if (!isNaming) concerned = new Set();
      const who = value.toLowerCase().split('/', 1)[0]?.trim();
      if (who === '*') concerned.add(everybody);
      if (who === agent) own ??= [];
      if (who === agent && own !== undefined) concerned.add(own);
    } else if ((name === 'allow' || name === 'disallow') && value !== '') {
      for (const group of concerned) group.push({ isAllowed: name === 'allow', pattern: value });
    }
    isNaming = name === 'user-agent';
  }
  return own ?? everybody;
};

/** Follows no more wildcards than `left`: a pattern with more of them forbids what begins like it, and allows nothing. */
const bounded = ({ isAllowed, pattern }: Rule, left: number): { readonly line: string; readonly wildcards: number } => {
  const short = pattern.replace(/\*+/g, '*').replace(/\*$/, '');
  const wildcards = short.split('*').length - 1;
  if (wildcards <= left) return { line: `${isAllowed ? 'Allow' : 'Disallow'}: ${short || '/'}`, wildcards };
  return { line: isAllowed ? '' : `Disallow: ${short.split('*', 1)[0] || '/'}`, wildcards: 0 };
};

/**
 * A robots.txt for everybody that says what the given one says to this agent: whoever wrote it can make asking it neither
 * slow nor large. Takes time in proportion to the text.
 *
 * @param agent in lower case, without a version.
 */
export const boundedRules = (text: string, agent: string): string => {
  let left = MAX_WILDCARDS;
  const lines = groupFor(text, agent)
    .slice(0, MAX_RULES)
    .map((rule) => {
      const { line, wildcards } = bounded(rule, left);
      left -= wildcards;
      return line;
    });
  return ['User-agent: *', ...lines].join('\n');
};
