export * from './sample-events.ts';
export * from './temporary-store.ts';
