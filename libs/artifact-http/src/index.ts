export { createArtifactFront } from './artifact-front.ts';
export { createArtifactStore } from './artifact-store.ts';
export type { HttpOptions } from './http-client.ts';
