import { canonicalJson, FabricError } from '@toolfabric/kernel';
import { readPointer } from './json-pointer.ts';

/** Literal text, or the JSON pointer of an argument. */
export type TemplatePart = { readonly text: string } | { readonly pointer: string };

const PART = /\{(\/[^{}]*)\}|([^{}]+)|([{}])/g;

/** Takes `repo {/repository}: {/title}` apart. Throws `contract_invalid` for a brace that opens no pointer. */
export const parseTemplate = (template: string): TemplatePart[] =>
  [...template.matchAll(PART)].map(([, pointer, text, brace]) => {
    if (brace !== undefined)
      throw new FabricError('contract_invalid', 'braces of a template hold a JSON pointer: {/path}');
    return pointer === undefined ? { text: text ?? '' } : { pointer };
  });

/**
 * Fills a template with canonical JSON of the arguments, so that two different sets of them never give one text.
 * Throws `invalid_arguments` for a missing one.
 */
export const renderTemplate = (template: string, args: unknown): string =>
  parseTemplate(template)
    .map((part) => {
      if ('text' in part) return part.text;
      const value = readPointer(args, part.pointer);
      if (value !== undefined) return canonicalJson(value);
      throw new FabricError('invalid_arguments', `the argument ${part.pointer} is needed here`, {
        fields: [{ field: part.pointer, expected: 'a value: the identity of the action is made of it' }],
      });
    })
    .join('');
