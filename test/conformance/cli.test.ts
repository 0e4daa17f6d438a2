import { CLI } from './cli-adapter.ts';
import { describeConformance } from './describe-conformance.ts';

describeConformance(CLI);
