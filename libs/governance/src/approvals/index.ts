export * from './batch-rules.ts';
export * from './bound-digest.ts';
export * from './may-decide.ts';
export * from './render-preview.ts';
export * from './scope-of.ts';
export * from './show-plainly.ts';
