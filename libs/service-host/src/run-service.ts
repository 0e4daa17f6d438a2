/**
 * The life of one service process.
 *
 * H1 It runs on Node 24 or not at all.
 * H2 The first SIGTERM or SIGINT stops the service in its own written order, within the grace: exit 0.
 * H3 A second signal, or the end of the grace, ends the process at once: exit 1.
 * H4 A service that ends by itself, and any error that nobody caught, ends the process: exit 1.
 * H5 An uncaught error is logged by its name and places, never by its text, which may hold caller data.
 */
import { createLogger, type Logger } from '@toolfabric/kernel';
import { describeThrown } from './describe-thrown.ts';
import { nodeRefusal } from './node-refusal.ts';
import type { RunningService } from './running-service.ts';
import { within } from './within.ts';

export type StartService = (logger: Logger) => Promise<RunningService>;

export interface HostOptions {
  /** Milliseconds from the first signal to a forced end; longer than the service's own drain. */
  readonly graceMs?: number;
  readonly nodeVersion?: string;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const GRACE_MS = 30_000;

/** Runs `start` as the whole of this process; `main.ts` calls nothing else. Never rejects: it ends the process instead. */
export const runService = async (name: string, start: StartService, options: HostOptions = {}): Promise<void> => {
  const logger = createLogger(name);
  const refusal = nodeRefusal(options.nodeVersion ?? process.versions.node);
  if (refusal) end(logger, 1, 'refused', { reason: refusal }); // H1
  endOnUncaught(logger);
  const signalled = waitForSignal(logger, options.graceMs ?? GRACE_MS);
  const service = await start(logger).catch((thrown: unknown) =>
    // No caller can have sent anything yet, and an operator needs the text.
    end(logger, 1, 'start_failed', { ...describeThrown(thrown), reason: String(thrown) }),
  );
  logger.info('ready', { pid: process.pid, node: process.versions.node, address: service.address });
  const failure = await Promise.race([signalled.then(() => undefined), service.failed]);
  if (failure !== undefined) logger.error('failed', { reason: failure });
  const stopped = await within(stopQuietly(service, logger), options.graceMs ?? GRACE_MS);
  if (stopped !== 'done') end(logger, 1, stopped === undefined ? 'grace_exceeded' : 'stop_failed', {});
  end(logger, failure === undefined ? 0 : 1, 'stopped', {}); // H2, H4
};

const end = (logger: Logger, code: number, event: string, fields: Record<string, string | undefined>): never => {
  logger[code === 0 ? 'info' : 'error'](event, fields);
  process.exit(code);
};

const stopQuietly = async (service: RunningService, logger: Logger): Promise<'done' | 'failed'> => {
  try {
    await service.stop();
    return 'done';
  } catch (thrown) {
    logger.error('stop_failed', describeThrown(thrown));
    return 'failed';
  }
};

/** Resolves at the first signal. The grace counts from there, whatever the service is doing (H3). */
const waitForSignal = (logger: Logger, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    let seen = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (seen) end(logger, 1, 'forced', { signal });
      seen = true;
      logger.info('stopping', { signal });
      setTimeout(() => end(logger, 1, 'grace_exceeded', {}), graceMs);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });

const endOnUncaught = (logger: Logger): void => {
  const onUncaught = (thrown: unknown) => end(logger, 1, 'uncaught', describeThrown(thrown));
  process.on('uncaughtException', onUncaught); // H4, H5
  process.on('unhandledRejection', onUncaught);
};
