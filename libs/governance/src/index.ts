export * from './policy-config.ts';
export * from './risk-policy.ts';
export * from './task-scope.ts';
