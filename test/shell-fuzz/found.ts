/** Texts that bash and an earlier analysis understood differently: each was found by the fuzz. */
export const FOUND: readonly string[] = [
  // Digits right before a redirection are a descriptor, even where the name of a file should stand.
  'rg >> 0< \\\n/dev/null|\\\nhead a',
  'ls >0>a',
  // `|` and `&>>` with only a joined line between them are `|&` and `>>`.
  'cut a |\\\n&>> \\\nd/e ls&>>a\nsort b',
  'ls |\\\n&>a pwd',
];
