export * from './choose-execution.ts';
export * from './isolation-floor.ts';
export * from './nearest-names.ts';
export * from './resolve-tool.ts';
export * from './tool-index.ts';
export * from './versions.ts';
