import type { AnyTool } from '@toolfabric/worker-runtime';
import type { Driver } from '../driver.ts';
import { httpRequestTool } from '../http-request/http-request.ts';
import { webSearchTool } from '../search/web-search.ts';
import { urlFetchTool } from './url-fetch.ts';

/** Every tool of this worker, as a flat list. */
export const createTools = (driver: Driver): readonly AnyTool[] => [
  urlFetchTool(driver),
  httpRequestTool(driver),
  webSearchTool(driver),
];
