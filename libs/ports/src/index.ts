export * from './artifacts.ts';
export * from './bus.ts';
export * from './egress.ts';
export * from './front.ts';
export * from './policy.ts';
export * from './stores.ts';
