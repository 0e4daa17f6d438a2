export * from './extract.ts';
export * from './extract-hosts.ts';
export * from './extract-resource.ts';
export * from './policy-config.ts';
export * from './risk-order.ts';
export * from './risk-policy.ts';
export * from './task-scope.ts';
