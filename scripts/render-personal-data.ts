import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ID_COUNTRIES } from '@toolfabric/results';
import { type Measure, measure, type TypeScore } from '../test/pii/measure.ts';

export const PERSONAL_DATA_PAGE = fileURLToPath(new URL('../docs/personal-data.md', import.meta.url));

const COUNTRIES = ID_COUNTRIES.map((country) => country.toUpperCase()).join(', ');

const HEAD = `# Personal data

A contract with \`governance.pii_allowed: false\` takes no personal data and gives none:

- Arguments that hold some are refused by the router with \`personal_data\`, before policy, approval and record. The error
  names the fields and what was seen there, never the text itself.
- Results, progress and logs are redacted in the worker, before anything leaves it: \`[redacted:pii:…]\` stands in the
  place, with a keyed hash, so that equal values of one tenant can be told to be equal. Artifacts of text go through the
  same redactor. The rule can be asked for alone too, as \`personal_data\` under \`governance.redact\`.

## What is found

| Type | How |
| --- | --- |
| \`email\` | addresses, letters of any script included; not names of packages, assets, units of a system or \`noreply\` |
| \`phone\` | with a calling code, in the forms of North America, France, the United Kingdom and China, or behind a word that says so, in the languages of the corpus |
| \`iban\` | country, length and check digits |
| \`card\` | issuer, length and check digit; in JSON also as a number |
| \`national_id\` | by check digits, or by a form or a word that nothing else has: ${COUNTRIES} |
| \`address\` | street with number and, in the same line, a town with its code; Chinese and Japanese addresses by their parts |

Names of persons are out of scope: no form tells them from other words. So are dates of birth, passports, licences,
pictures and sounds, what is spelled out or disguised, and what goes on in the next line.

## How well

Measured on a labelled corpus, \`test/pii\`: made-up persons in some twenty languages, and texts that look like personal
data and are none (code, diffs, logs, ids, dates, tables). Found means that all of it was covered. The detector was made
with these texts at hand, so that on others it does less well. The texts of the last
column were written to escape a detector of forms: they say what to expect of it, and do not count in the other numbers.
`;

const TAIL = `
This page is made by \`npx node scripts/render-personal-data.ts\`; a test holds it equal to what is measured.
`;

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

const rowOf = ({ type, found, labelled }: TypeScore, hard: TypeScore | undefined): string =>
  `| \`${type}\` | ${found} of ${labelled} | ${hard?.found ?? 0} of ${hard?.labelled ?? 0} |`;

const tableOf = ({ types, hard, wrong, negatives, precision, recall }: Measure): string =>
  [
    '| Type | Found | Written to escape |',
    '| --- | --- | --- |',
    ...types.map((score) =>
      rowOf(
        score,
        hard.find(({ type }) => type === score.type),
      ),
    ),
    '',
    `Precision ${percent(precision)}, recall ${percent(recall)}; ${wrong.length} wrong findings, ${negatives} texts without any.`,
  ].join('\n');

/** The page as it must stand in `docs/personal-data.md`. */
export const renderPersonalData = (): string => `${HEAD}\n${tableOf(measure())}\n${TAIL}`;

if (import.meta.main) {
  const page = renderPersonalData();
  const isCurrent = readFileSync(PERSONAL_DATA_PAGE, { encoding: 'utf8', flag: 'a+' }) === page;
  if (!isCurrent) writeFileSync(PERSONAL_DATA_PAGE, page);
  console.log(`docs/personal-data.md ${isCurrent ? 'is current' : 'was written'}`);
}
