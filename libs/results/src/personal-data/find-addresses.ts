import { asBytes, type Finder } from './found.ts';

/** A letter of any script with cases, as bytes. */
const L = '[A-Za-z\\x80-\\xff\\x27.-]';
const CAPITAL = '(?:[A-Z]|\\xc3[\\x80-\\x9e])';
const WORD = `${CAPITAL}${L}{0,30}`;
const NUMBER = '\\d{1,4} ?[a-zA-Z]?';
const CJK = '(?:[\\xe3-\\xe9][\\x80-\\xbf]{2})';

/** A street with a number, and in the same line a town with its code: a street alone is no address. */
const FORMS: readonly string[] = [
  // 12 Elm Street, Springfield, IL 62704; 4 Mill Lane, York YO1 7HH
  `\\d{1,5}[a-zA-Z]? (?:[NSEW]\\.? )?(?:${WORD} ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Way|Place|Pl|Square|Sq|Terrace|Close|Crescent|Gardens|Grove)\\.?(?:,? (?:Apt|Flat|Suite|Unit|#)\\.? ?\\w{1,5})?,? {0,2}[^\\n\\d]{0,40}?(?:[A-Z]{2} \\d{5}(?:-\\d{4})?|[A-Z]{1,2}\\d[A-Z\\d]? ?\\d[A-Z]{2}|\\b[A-Z]\\d[A-Z] ?\\d[A-Z]\\d)`,
  // Lindenstraße 7, 10969 Berlin; Keizersgracht 12, 1015 CN Amsterdam
  `${CAPITAL}${L}{2,30}(?:stra\\xc3\\x9fe|strasse|str\\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan|gracht|plein|gatan|v\\xc3\\xa4gen|gade|vej|gata) ${NUMBER},? {0,2}(?:[A-Z]{1,2}-)?\\d{4,5}(?: [A-Z]{2})? ${WORD}`,
  // Am Alten Markt 5, 50667 Köln
  `(?:Am|An der|Auf der|Im|In der|Zum|Zur) (?:${WORD} ?){1,3} ${NUMBER},? {0,2}(?:[A-Z]{1,2}-)?\\d{5} ${WORD}`,
  // 8 bis, rue des Lilas, 75011 Paris
  asBytes(
    `\\d{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|place|chemin|impasse|allée|quai|cours|square) [^\\n\\d,]{2,40},? {0,2}\\d{5} `,
  ) + WORD,
  // Calle Mayor 3, 28013 Madrid; Via Roma 12, 20121 Milano; Rua Augusta, 15, 1100-048 Lisboa; ul. Długa 4, 00-238 Warszawa
  `(?:Calle|C/|Avenida|Avda\\.|Paseo|Plaza|Via|Viale|Piazza|Corso|Rua|Av\\.|Largo|ul\\.|al\\.|ulica) [^\\n\\d,]{2,40},? (?:n\\.? ?)?${NUMBER}(?:/\\d{1,4})?,? {0,2}[^\\n\\d]{0,12}(?:\\d{5}|\\d{4}-\\d{3}|\\d{2}-\\d{3}|\\d{5}-\\d{3}) ${WORD}`,
  // 北京市朝阳区建国路88号
  `${CJK}{2,12}(?:${asBytes('市')}|${asBytes('区')}|${asBytes('县')}|${asBytes('區')})${CJK}{1,12}(?:${['路', '街', '大道', '巷', '弄'].map(asBytes).join('|')})\\d{1,5}(?:${asBytes('号')}|${asBytes('號')}|${asBytes('弄')})(?:\\d{1,4}(?:${['栋', '号楼', '单元', '室', '层', '楼'].map(asBytes).join('|')})){0,4}`,
  // 東京都港区芝公園4丁目2-8
  `${CJK}{1,4}(?:${['都', '道', '府', '県'].map(asBytes).join('|')})${CJK}{1,12}(?:${['区', '市', '町', '村'].map(asBytes).join('|')})${CJK}{1,12}\\d{1,3}(?:${asBytes('丁目')}|-)\\d{1,3}(?:-\\d{1,3})?`,
];

const COMPILED = FORMS.map((form) => new RegExp(`(?<![\\w])(?:${form})`, 'g'));

export const findAddresses: Finder = (text, found) => {
  for (const form of COMPILED)
    for (const match of text.matchAll(form))
      found.push({ start: match.index, end: match.index + match[0].length, type: 'address' });
};
