import { type Finder, isNamedBefore } from './found.ts';
import { NATIONAL_IDS } from './national-ids.ts';

const COMPILED = NATIONAL_IDS.map(({ form, holds, named }) => ({
  form: new RegExp(`(?<![\\w.+-]|\\d )(?:${form})(?![\\w-]|[.,]\\d| \\d)`, 'g'),
  holds,
  named: named === undefined ? undefined : new RegExp(`(?:${named})[^\\n\\d]{0,20}$`, 'i'),
}));

export const findNationalIds: Finder = (text, found) => {
  for (const { form, holds, named } of COMPILED)
    for (const match of text.matchAll(form)) {
      const id = match[0].replace(/[^A-Za-z0-9]/g, '');
      if (holds(id) && (named === undefined || isNamedBefore(text, match.index, named)))
        found.push({ start: match.index, end: match.index + match[0].length, type: 'national_id' });
    }
};
