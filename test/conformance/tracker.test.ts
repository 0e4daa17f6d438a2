import { describeConformance } from './describe-conformance.ts';
import { TRACKER } from './tracker-adapter.ts';

describeConformance(TRACKER);
