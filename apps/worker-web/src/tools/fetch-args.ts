import { z } from 'zod';
import { CONTENT_FORMATS } from '../content/read-content.ts';

export const FetchArgs = z.strictObject({
  url: z.string(),
  method: z.enum(['GET', 'HEAD']).default('GET'),
  format: z.enum(CONTENT_FORMATS).default('markdown'),
  from: z.int().min(0).default(0),
  max_chars: z.int().min(200).max(40_000).default(16_000),
});
export type FetchArgs = z.infer<typeof FetchArgs>;
