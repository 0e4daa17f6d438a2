/** A process that makes load, or answers it: it shares nothing with the services but the machine. */
import { answerRequests, type BareCalls, openBareCalls } from './bare-calls.ts';
import { FabricCalls } from './fabric-calls.ts';
import type { Job, Target } from './jobs.ts';
import { type OneCall, runLoad } from './run-load.ts';

const fabrics = new Map<string, FabricCalls>();
let bare: BareCalls | undefined;

const callOf = (target: Target): OneCall => {
  const call =
    target.type === 'fabric' ? fabrics.get(target.fabric)?.call(target.tool, target.actors) : bare?.[target.type];
  if (!call) throw new Error('the target was not opened');
  return call;
};

const carryOut = async (job: Job): Promise<unknown> => {
  switch (job.type) {
    case 'open-fabric':
      return void fabrics.set(job.fabric, new FabricCalls(job.point));
    case 'close-fabric':
      fabrics.get(job.fabric)?.close();
      return void fabrics.delete(job.fabric);
    case 'open-bare':
      bare = await openBareCalls(job.point);
      return;
    case 'answer-requests':
      return answerRequests(job.point);
    case 'load':
      return runLoad(callOf(job.target), job.load);
  }
};

process.on('disconnect', () => process.exit());
process.on('message', (job: Job) => {
  carryOut(job).then(
    (ok) => process.send?.({ ok }),
    (thrown) => process.send?.({ error: String(thrown) }),
  );
});
