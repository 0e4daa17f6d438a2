import { parentPort, workerData } from 'node:worker_threads';
import type { IndexReply, IndexRequest, IndexSettings } from './index-message.ts';
import { IndexShelf } from './index-shelf.ts';

const { folder, limits } = workerData as IndexSettings;
const shelf = new IndexShelf(folder, limits, () => performance.now());
const say = (reply: IndexReply) => parentPort?.postMessage(reply);

const answer = async ({ id, tenant, query }: IndexRequest): Promise<IndexReply> => {
  const beat = () => say({ beat: true });
  const index = await shelf.open(tenant, beat);
  if (index === undefined) return { id, none: true };
  const { hits, notLookedAt } = await index.find(query, beat);
  const leftOut = notLookedAt === 0 ? index.leftOut : { ...index.leftOut, not_looked_at: notLookedAt };
  return { id, hits, files: index.files, leftOut };
};

parentPort?.on('message', (request: IndexRequest) => {
  answer(request).then(say, () => say({ id: request.id, failed: true }));
});
