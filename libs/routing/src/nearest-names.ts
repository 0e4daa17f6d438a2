const MAX_EXAMINED = 256;
const MAX_LENGTH = 80;
const MAX_SUGGESTED = 3;

/** Edit distance of two short texts, where swapping neighbours counts one. Both are cut at 80 characters. */
export const editDistance = (left: string, right: string): number => {
  const a = left.slice(0, MAX_LENGTH);
  const b = right.slice(0, MAX_LENGTH);
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      const cost = Math.min(
        (previous[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
      row.push(cost);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
};

/** A short name allows few slips, else everything would be near it. */
const isNear = (distance: number, wanted: string): boolean =>
  distance <= (wanted.length < 4 ? 1 : Math.max(2, Math.floor(Math.min(wanted.length, MAX_LENGTH) / 3)));

/** Up to three of `names` that `wanted` may have meant, the nearest first. Looks at no more than 256 of them. */
export const nearestNames = (wanted: string, names: Iterable<string>): string[] => {
  const found: { name: string; distance: number }[] = [];
  let examined = 0;
  for (const name of names) {
    if (examined >= MAX_EXAMINED) break;
    examined += 1;
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    if (isNear(distance, wanted)) found.push({ name, distance });
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  const best = found[0]?.distance ?? 0;
  return found
    .filter(({ distance }) => distance <= best + 1)
    .slice(0, MAX_SUGGESTED)
    .map(({ name }) => name);
};

const trigramsOf = (name: string): ReadonlySet<string> => {
  const text = `^${name.slice(0, MAX_LENGTH).toLowerCase()}$`;
  return new Set(Array.from({ length: Math.max(1, text.length - 2) }, (_, i) => text.slice(i, i + 3)));
};

/** Suggests from many names at a bounded cost a question, whatever was typed: the rarest shared trigrams come first. */
export const createSuggester = (names: readonly string[]): ((wanted: string) => string[]) => {
  const byTrigram = new Map<string, string[]>();
  for (const name of names) {
    for (const trigram of trigramsOf(name)) {
      const list = byTrigram.get(trigram);
      if (list === undefined) byTrigram.set(trigram, [name]);
      else list.push(name);
    }
  }
  return (wanted) => {
    const lists = [...trigramsOf(wanted)].flatMap((trigram) => [byTrigram.get(trigram) ?? []]);
    lists.sort((a, b) => a.length - b.length);
    const candidates = new Set<string>();
    for (const list of lists) {
      for (const name of list) {
        if (candidates.size >= MAX_EXAMINED) return nearestNames(wanted, candidates);
        candidates.add(name);
      }
    }
    return nearestNames(wanted, candidates);
  };
};
