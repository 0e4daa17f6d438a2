export * from './define-tool.ts';
export * from './keep-alive.ts';
export * from './redactor.ts';
export * from './run-delivery.ts';
export * from './run-worker.ts';
export * from './worker-context.ts';
