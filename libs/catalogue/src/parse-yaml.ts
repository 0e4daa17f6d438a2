import { parse } from 'yaml';

/** The value of a YAML text that a person wrote; without aliases, which could make it grow. Throws for what is none. */
export const parseYaml = (text: string): unknown => parse(text, { maxAliasCount: 0 });
