export { RowsRejected } from './database.ts';
export type { EngineState } from './engine/engine-keeper.ts';
export { type EngineProbe, probeEngine } from './engine/probe-engine.ts';
export { probeServer, type ServerAddress } from './probe-server.ts';
export { type EventRows, expiryOf, type Retention, rowsOf } from './rows/event-rows.ts';
export * from './trace-store.ts';
