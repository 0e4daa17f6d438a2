import { StoreUnavailable } from '@toolfabric/ports';
import { z } from 'zod';
import { parseAnswer, unavailable } from './answers.ts';
import type { BusLink } from './link.ts';
import { CORE_API, streamInfoSubject, workStream } from './subjects.ts';

/** Messages of a tenant in the queue of a kind. A message stays there until its delivery is acknowledged. */
export type QueuedWork = ReadonlyMap<string, ReadonlyMap<string, number>>;

const Subjects = z.object({
  error: z.object({ description: z.string().default('') }).optional(),
  total: z.number().default(0),
  state: z.object({ subjects: z.record(z.string(), z.number()).optional() }).optional(),
});

/** Of one kind, page by page: `work.<kind>.….<tenant>`. */
const countsOf = async (link: BusLink, kind: string): Promise<[string, number][]> => {
  const counts: [string, number][] = [];
  for (;;) {
    const query = JSON.stringify({ subjects_filter: `work.${kind}.>`, offset: counts.length });
    const asked = link.request(streamInfoSubject(CORE_API, workStream(kind)), query);
    const answer = parseAnswer(Subjects, await asked.catch((error) => Promise.reject(unavailable(error))));
    if (answer.error !== undefined) throw new StoreUnavailable(answer.error.description);
    const page = Object.entries(answer.state?.subjects ?? {});
    counts.push(...page);
    if (page.length === 0 || counts.length >= answer.total) return counts;
  }
};

/** Throws `StoreUnavailable`. */
export const queuedWork = async (link: BusLink, kinds: readonly string[]): Promise<QueuedWork> => {
  const found = new Map<string, Map<string, number>>();
  const counts = await Promise.all(kinds.map((kind) => countsOf(link, kind)));
  for (const [at, kind] of kinds.entries())
    for (const [subject, count] of counts[at] ?? []) {
      const tenant = subject.slice(subject.lastIndexOf('.') + 1);
      const ofTenant = found.get(tenant) ?? new Map<string, number>();
      ofTenant.set(kind, (ofTenant.get(kind) ?? 0) + count);
      found.set(tenant, ofTenant);
    }
  return found;
};
