import { readFileSync } from 'node:fs';
import { compileInterface, importOpenApi, readDocument } from '@toolfabric/catalogue';
import type { ToolContract } from '@toolfabric/contract';

const read = (name: string) => readDocument(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'), name);

/**
 * The tools of a tracker at an address such as `127.0.0.1:4000`, as `toolfabric interface import` makes them; `more` is
 * what the whole interface says otherwise, such as its credential.
 */
export const trackerContracts = (address: string, more: { readonly credential?: string } = {}): ToolContract[] => {
  const declared = { ...read('interface.yaml'), base: `http://${address}`, ...more };
  return compileInterface(importOpenApi(read('openapi.yaml'), declared).document);
};
