/** Blanks comments, so that an example in one does not count as an import. Keeps strings that contain `//`. */
export const withoutComments = (text: string): string =>
  text.replace(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (_all, string: string | undefined) => string ?? ' ',
  );

const PATTERNS = [
  /(?:^|[;\n])\s*(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]/g,
  /(?:^|[;\n])\s*import\s*['"]([^'"]+)['"]/g,
  /\bimport\s*\(\s*['"]([^'"]+)['"]\s*[,)]/g,
];

/** What a source file imports, statically or dynamically, as it is written. */
export const importsOf = (text: string): string[] => {
  const code = withoutComments(text);
  return PATTERNS.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1] ?? ''));
};

/** `@scope/name` or `name` out of an import of a package; undefined for relative and built-in ones. */
export const packageOf = (specifier: string): string | undefined => {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || specifier.startsWith('/')) return undefined;
  const [first = '', second] = specifier.split('/');
  return first.startsWith('@') && second !== undefined ? `${first}/${second}` : first;
};
