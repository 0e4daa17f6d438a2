import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ERROR_TABLE, type ErrorRow, Layer } from '@toolfabric/contract';

export const ERRORS_PAGE = fileURLToPath(new URL('../docs/errors.md', import.meta.url));

/** Who must act on an error of the layer. */
const WHO: Readonly<Record<Layer, string>> = {
  protocol: 'The caller: the request or its arguments must change.',
  policy: 'Whoever decides what may be done; rephrasing the call does not help.',
  runtime: 'Nobody, or the operator of the fabric; many of these pass by themselves.',
  tool: 'The caller, with what the tool said about the resource.',
  adapter: 'The author of the tool.',
  executor: 'The operator of the executor.',
  registry: 'The author of the contract, or a caller who names another tool.',
  sandbox: 'The operator of the machine, or a caller who names another workspace.',
};

const cell = (text: string): string => text.replaceAll('|', '\\|');

const section = (layer: Layer): string => {
  const rows = Object.entries<ErrorRow>(ERROR_TABLE).filter(([, row]) => row.layer === layer);
  if (rows.length === 0) return '';
  const lines = rows.map(
    ([type, row]) => `| \`${type}\` | ${row.retryable ? 'yes' : 'no'} | ${cell(row.meaning)} | ${cell(row.hint)} |`,
  );
  return [
    `## ${layer}`,
    '',
    WHO[layer],
    '',
    '| Type | Retry | Meaning | What to do |',
    '| --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n');
};

const HEAD = `# Errors

An error has a type, the layer that must act on it, a message, and a hint that a model can follow. *Retry* says whether
the very same request may succeed later; an error that carries \`retryAfterMs\` asks to wait for so long before. A call
whose outside effect may have happened never ends as an error: it ends as \`unknown\` and is looked into.

This page is made from the error table by \`npx node scripts/render-errors.ts\`; a test holds the two equal.
`;

/** The page as it must stand in \`docs/errors.md\`. */
export const renderErrors = (): string =>
  [HEAD, ...Layer.options.map(section).filter((text) => text !== '')].join('\n');

if (import.meta.main) {
  const page = renderErrors();
  const isCurrent = readFileSync(ERRORS_PAGE, { encoding: 'utf8', flag: 'a+' }) === page;
  if (!isCurrent) writeFileSync(ERRORS_PAGE, page);
  console.log(`docs/errors.md ${isCurrent ? 'is current' : 'was written'}`);
}
