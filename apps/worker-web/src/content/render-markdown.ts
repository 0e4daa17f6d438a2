import { type AnyNode, type Element, hasChildren, isTag, isText } from 'domhandler';

/** Rows of one table that are written; of the rest only how many there are. */
const MAX_ROWS = 500;
/** Deeper elements are written as their text. */
const MAX_DEPTH = 200;

interface Context {
  readonly base: string;
  readonly depth: number;
}

const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'head',
  'button',
  'select',
]);
const BLOCKS = new Set(
  'address article aside blockquote center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table ul'.split(
    ' ',
  ),
);

const squeeze = (text: string): string => text.replace(/[\t\n\f\r ]+/g, ' ');

/** Characters that would make the text of a page into Markdown of its own. */
const escapeText = (text: string): string =>
  text
    .replace(/[\\`*[\]<>]/g, '\\$&')
    // Inside a word they mean nothing, and what is looked for in the text, such as a token, must stand there as it is.
    .replace(/(?<![\p{L}\p{N}_])_+|_+(?![\p{L}\p{N}_])/gu, (signs) => signs.replaceAll('_', '\\_'));

/** Only addresses that can be fetched or written to; relative ones made whole. */
const addressOf = (value: string | undefined, base: string): string | undefined => {
  if (value === undefined || !URL.canParse(value, base)) return undefined;
  const { protocol, href } = new URL(value, base);
  if (protocol !== 'http:' && protocol !== 'https:' && protocol !== 'mailto:') return undefined;
  return href.length > 2_000
    ? undefined
    : href.replace(/[()<>\s]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
};

const textOf = (node: AnyNode): string => {
  const parts: string[] = [];
  const stack: AnyNode[] = [node];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (isText(next)) parts.push(next.data);
    else if (isTag(next) && SKIPPED.has(next.name)) continue;
    else if (hasChildren(next)) stack.push(...next.children.toReversed());
  }
  return parts.join('');
};

const isBlock = (node: AnyNode): boolean => isTag(node) && BLOCKS.has(node.name);

const fence = (text: string): string => {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  return '`'.repeat(Math.max(3, longest + 1));
};

const codeSpan = (text: string): string => {
  const flat = squeeze(text).trim();
  if (flat === '') return '';
  const longest = Math.max(0, ...[...flat.matchAll(/`+/g)].map(([run]) => run.length));
  const ticks = '`'.repeat(longest + 1);
  const pad = flat.startsWith('`') || flat.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${flat}${pad}${ticks}`;
};

const wrap = (inner: string, mark: string): string => {
  const flat = inner.trim();
  if (flat === '') return inner;
  const before = /^\s/.test(inner) ? ' ' : '';
  const after = /\s$/.test(inner) ? ' ' : '';
  return `${before}${mark}${flat}${mark}${after}`;
};

const inlineElement = (node: Element, context: Context): string => {
  const within = () => inline(node.children, { ...context, depth: context.depth + 1 });
  switch (node.name) {
    case 'br':
      return '\n';
    case 'b':
    case 'strong':
      return wrap(within(), '**');
    case 'i':
    case 'em':
      return wrap(within(), '*');
    case 'del':
    case 's':
      return wrap(within(), '~~');
    case 'code':
    case 'kbd':
    case 'samp':
      return codeSpan(textOf(node));
    case 'img': {
      const alt = squeeze(node.attribs['alt'] ?? '').trim();
      return alt === '' ? '' : `[image: ${escapeText(alt)}]`;
    }
    case 'a': {
      const inner = within();
      const address = addressOf(node.attribs['href'], context.base);
      return address === undefined || inner.trim() === '' ? inner : `[${inner.trim()}](${address})`;
    }
    default:
      return within();
  }
};

const inline = (nodes: readonly AnyNode[], context: Context): string =>
  nodes
    .map((node) => {
      if (isText(node)) return escapeText(squeeze(node.data));
      if (!isTag(node) || SKIPPED.has(node.name)) return '';
      if (context.depth > MAX_DEPTH) return escapeText(squeeze(textOf(node)));
      return inlineElement(node, context);
    })
    .join('');

const tidyLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => squeeze(line).trim())
    .join('\n')
    .trim();

const indent = (text: string, first: string, rest: string): string =>
  text
    .split('\n')
    .map((line, index) => (index === 0 ? first + line : line === '' ? '' : rest + line))
    .join('\n');

const list = (node: Element, context: Context): string => {
  const isOrdered = node.name === 'ol';
  const start = Number.parseInt(node.attribs['start'] ?? '1', 10) || 1;
  const items = node.children.filter((child): child is Element => isTag(child) && child.name === 'li');
  return items
    .map((item, index) => {
      const mark = isOrdered ? `${start + index}. ` : '- ';
      return indent(
        blocks(item.children, { ...context, depth: context.depth + 1 }, '\n'),
        mark,
        ' '.repeat(mark.length),
      );
    })
    .join('\n');
};

const cell = (node: Element, context: Context): string =>
  tidyLine(inline(node.children, { ...context, depth: context.depth + 1 }))
    .replaceAll('\n', ' ')
    .replaceAll('|', '\\|');

/** Rows of a table itself, not of one inside it. */
const rowsOf = (table: Element): Element[] => {
  const rows: Element[] = [];
  const stack: AnyNode[] = table.children.toReversed();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (!isTag(next)) continue;
    if (next.name === 'tr') rows.push(next);
    else if (next.name === 'thead' || next.name === 'tbody' || next.name === 'tfoot')
      stack.push(...next.children.toReversed());
  }
  return rows;
};

const cellsOf = (row: Element): Element[] =>
  row.children.filter((child): child is Element => isTag(child) && (child.name === 'td' || child.name === 'th'));

/** A table that lays out a page is no table: one column, or others inside it. */
const isLayout = (rows: readonly Element[], table: Element): boolean =>
  table.attribs['role'] === 'presentation' ||
  rows.every((row) => cellsOf(row).length < 2) ||
  rows
    .slice(0, 20)
    .some((row) => cellsOf(row).some((each) => each.children.some((child) => isTag(child) && child.name === 'table')));

const table = (node: Element, context: Context): string => {
  const rows = rowsOf(node);
  const deeper = { ...context, depth: context.depth + 1 };
  if (isLayout(rows, node))
    return rows
      .flatMap((row) => cellsOf(row).map((each) => blocks(each.children, deeper)))
      .filter(Boolean)
      .join('\n\n');
  const written = rows.slice(0, MAX_ROWS).map((row) =>
    cellsOf(row)
      .slice(0, 50)
      .map((each) => cell(each, deeper)),
  );
  const width = Math.max(...written.map((row) => row.length));
  const lines = written.map((row) => `| ${Array.from({ length: width }, (_, i) => row[i] ?? '').join(' | ')} |`);
  const rule = `|${' --- |'.repeat(width)}`;
  const rest = rows.length > MAX_ROWS ? [`| ${rows.length - MAX_ROWS} more rows |`] : [];
  return [lines[0], rule, ...lines.slice(1), ...rest].join('\n');
};

const languageOf = (node: Element): string => {
  const code = node.children.find((child): child is Element => isTag(child) && child.name === 'code');
  const named = /(?:^|\s)(?:language|lang|highlight-source)-([\w+#-]{1,20})/.exec(
    `${code?.attribs['class'] ?? ''} ${node.attribs['class'] ?? ''}`,
  );
  return named?.[1] ?? '';
};

const blockElement = (node: Element, context: Context): string => {
  const deeper = { ...context, depth: context.depth + 1 };
  switch (node.name) {
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6': {
      const title = tidyLine(inline(node.children, deeper)).replaceAll('\n', ' ');
      return title === '' ? '' : `${'#'.repeat(Number(node.name[1]))} ${title}`;
    }
    case 'hr':
      return '---';
    case 'pre': {
      const text = textOf(node).replace(/^\n|\s+$/g, '');
      const marks = fence(text);
      return text === '' ? '' : `${marks}${languageOf(node)}\n${text}\n${marks}`;
    }
    case 'blockquote':
      return indent(blocks(node.children, deeper), '> ', '> ').replace(/^$/gm, '>');
    case 'ul':
    case 'ol':
      return list(node, deeper);
    case 'table':
      return table(node, deeper);
    default:
      return blocks(node.children, deeper);
  }
};

const blocks = (nodes: readonly AnyNode[], context: Context, between = '\n\n'): string => {
  const parts: string[] = [];
  let run: AnyNode[] = [];
  const flush = () => {
    const text = tidyLine(inline(run, context));
    if (text !== '') parts.push(text);
    run = [];
  };
  for (const node of nodes) {
    if (isTag(node) && SKIPPED.has(node.name)) continue;
    if (context.depth > MAX_DEPTH || !(isBlock(node) || (isTag(node) && holdsBlock(node)))) run.push(node);
    else {
      flush();
      const text = blockElement(node as Element, context);
      if (text !== '') parts.push(text);
    }
  }
  flush();
  return parts.join(between);
};

/** An inline element that wraps blocks, such as a link around a card, is looked into a few levels deep. */
const holdsBlock = (node: Element, levels = 3): boolean =>
  node.children.some((child) => isBlock(child) || (levels > 0 && isTag(child) && holdsBlock(child, levels - 1)));

/**
 * Elements as Markdown: headings, paragraphs, lists, tables, code, quotes, links with whole addresses. The text of a page
 * is escaped, so that it stays text.
 *
 * @param base the address of the page, against which its links are resolved.
 */
export const renderMarkdown = (nodes: readonly AnyNode[], base: string): string => blocks(nodes, { base, depth: 0 });
