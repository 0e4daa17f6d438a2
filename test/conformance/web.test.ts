import { describeConformance } from './describe-conformance.ts';
import { WEB } from './web-adapter.ts';

describeConformance(WEB);
