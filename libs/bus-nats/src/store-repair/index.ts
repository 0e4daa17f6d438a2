export { prepareStore, recoversAlone } from './prepare-store.ts';
