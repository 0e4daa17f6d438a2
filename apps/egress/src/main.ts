import { runService } from '@toolfabric/service-host';
import { readConfig } from './config.ts';
import { start } from './start.ts';

await runService('egress', (logger) => start(readConfig(), logger));
