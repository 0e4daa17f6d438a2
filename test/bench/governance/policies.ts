/** A forbid that never holds for what the benchmark calls: it is looked at, and changes nothing. */
const rule = (n: number, action: string): string =>
  `@id("rule_${n}")\nforbid (principal, action == Action::"${action}", resource)\n` +
  `when { context.user == "user-${n}" && context.taint.private && context.level > ${n % 4} };`;

/** So many policies of one tenant, all about `tool`: the engine looks at each of them. */
export const aboutOne = (count: number, tool: string): string =>
  Array.from({ length: count }, (_, n) => rule(n, tool)).join('\n\n');

/** So many policies over a hundred tools, as an installation has them: a call meets those of its own tool. */
export const aboutMany = (count: number, tool: string): string =>
  Array.from({ length: count }, (_, n) => rule(n, n % 100 === 0 ? tool : `filler.tool_${n % 100}`)).join('\n\n');
