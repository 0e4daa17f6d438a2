export * from './canonical-json.ts';
export * from './clock.ts';
export * from './errors.ts';
export * from './fault-points.ts';
export * from './ids.ts';
export * from './logger.ts';
export * from './pace.ts';
export * from './signing.ts';
