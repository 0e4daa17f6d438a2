import { z } from 'zod';

/** Who must act on an error. */
export const Layer = z.enum(['protocol', 'policy', 'runtime', 'tool', 'adapter', 'executor', 'registry', 'sandbox']);
export type Layer = z.infer<typeof Layer>;
