import { forEachChild, type ParsedScript, type SyntaxNode } from 'unbash';
import { SHELL_LIMITS } from './analysis.ts';
import { Denied } from './verdicts.ts';

const scriptErrors = (node: SyntaxNode): readonly { message: string }[] =>
  node.type === 'Script' ? ((node as ParsedScript).errors ?? []) : [];

/**
 * Every node, the scripts inside of substitutions too, since each has errors of its own. Throws `Denied` for any error
 * and past any limit.
 */
export const walkTree = (script: ParsedScript): void => {
  const waiting: { node: SyntaxNode; depth: number }[] = [{ node: script, depth: 0 }];
  const counted = { nodes: 0, words: 0, commands: 0 };
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    counted.nodes += 1;
    if (node.type === 'Word') counted.words += 1;
    if (node.type === 'Command') counted.commands += 1;
    const [error] = scriptErrors(node);
    if (error !== undefined) throw new Denied(`it cannot be parsed: ${error.message}`);
    const over = (['nodes', 'words', 'commands'] as const).find((name) => counted[name] > SHELL_LIMITS[name]);
    if (over !== undefined) throw new Denied(`it has more than ${SHELL_LIMITS[over]} ${over}`);
    if (depth > SHELL_LIMITS.depth) throw new Denied(`it is nested more than ${SHELL_LIMITS.depth} levels deep`);
    forEachChild(node, (child) => {
      waiting.push({ node: child, depth: depth + 1 });
    });
  }
};
