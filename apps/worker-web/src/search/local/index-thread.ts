import { parentPort, workerData } from 'node:worker_threads';
import type { IndexReply, IndexRequest, IndexSettings } from './index-message.ts';
import { IndexShelf } from './index-shelf.ts';

const { folder, limits } = workerData as IndexSettings;
const shelf = new IndexShelf(folder, limits, () => performance.now());
const say = (reply: IndexReply) => parentPort?.postMessage(reply);

const answer = async ({ id, tenant, query }: IndexRequest): Promise<IndexReply> => {
  const index = await shelf.open(tenant, () => say({ beat: true }));
  if (index === undefined) return { id, none: true };
  return { id, hits: index.find(query), files: index.files, leftOut: index.leftOut };
};

parentPort?.on('message', (request: IndexRequest) => {
  answer(request).then(say, () => say({ id: request.id, failed: true }));
});
