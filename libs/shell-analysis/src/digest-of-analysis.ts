import { digestOf } from '@toolfabric/kernel';
import type { ShellAnalysis } from './analysis.ts';

/** SHA-256 over the canonical JSON of an analysis: two readers of one text agree, or differ in this. */
export const digestOfAnalysis = (analysis: ShellAnalysis): string => digestOf(analysis);
