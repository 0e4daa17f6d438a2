export type * from './client-types.ts';
export { connectFabric } from './connect-fabric.ts';
