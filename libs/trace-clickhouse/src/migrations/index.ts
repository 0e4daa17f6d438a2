import { calls } from './0001-calls.ts';
import { events } from './0002-events.ts';
import { spans } from './0003-spans.ts';
import { payloads } from './0004-payloads.ts';
import { traceTimes } from './0005-trace-times.ts';
import { tasks } from './0006-tasks.ts';
import type { Migration } from './migration.ts';

export type { Migration } from './migration.ts';

/** In order; a published one is never changed. */
export const MIGRATIONS: readonly Migration[] = [calls, events, spans, payloads, traceTimes, tasks];
