export * from './approval.ts';
export * from './call.ts';
export * from './claim.ts';
export * from './delivery.ts';
export * from './keys.ts';
export * from './operation.ts';
export * from './settlement.ts';
export * from './sweep.ts';
