import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Imported, InterfaceOverlay, importOpenApi, MAX_DOCUMENT, readDocument } from '@toolfabric/catalogue';
import { FabricError } from '@toolfabric/kernel';
import type { Arguments } from '../cli/arguments.ts';
import { UsageError } from '../cli/usage-error.ts';

type Document = ReturnType<typeof readDocument>;

/** A YAML or JSON document of at most `MAX_DOCUMENT` bytes. Throws `contract_invalid` or `UsageError`. */
export const readFile = (file: string): Document => {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new UsageError(`${file}: there is no such file`);
  if (size > MAX_DOCUMENT) throw new FabricError('contract_invalid', `${file}: larger than ${MAX_DOCUMENT} bytes`);
  return readDocument(readFileSync(file, 'utf8'), file);
};

const needed = (args: Arguments, flag: string): string => {
  const text = args.text(flag);
  if (text === undefined) throw new UsageError(`--${flag} is needed for an OpenAPI document`);
  return text;
};

const operationsOf = (args: Arguments): { from: string }[] => {
  const named = args.list('operation').map((text) => text.trim());
  if (named.length === 0 || named.includes('')) throw new UsageError('--operation is needed: name one, and repeat it');
  return named.map((from) => ({ from }));
};

/** What the flags say beside an OpenAPI document. */
const overlayOf = (args: Arguments): object => {
  const [version, credential, key, test] = ['version', 'credential', 'key-header', 'test-base'].map((flag) =>
    args.text(flag),
  );
  return {
    interface: needed(args, 'name'),
    base: needed(args, 'base'),
    operations: operationsOf(args),
    ...(version === undefined ? {} : { version }),
    ...(credential === undefined ? {} : { credential }),
    ...(key === undefined ? {} : { key_header: key.toLowerCase() }),
    ...(test === undefined ? {} : { test_base: test }),
  };
};

/** A declaration stands alone, or beside the OpenAPI document that it names. */
const readDeclared = (file: string, declared: Document): Imported => {
  const overlay = InterfaceOverlay.safeParse(declared);
  const beside = overlay.success ? overlay.data.openapi : undefined;
  // Without a document each operation says everything itself.
  const openapi = beside === undefined ? { openapi: '3.1.0', paths: {} } : readFile(resolve(dirname(file), beside));
  return importOpenApi(openapi, declared);
};

/**
 * The interface that a file declares: a declaration (it has `interface`), or an OpenAPI document with what the flags say
 * of it. Reads these files and nothing else. Throws `contract_invalid` or `UsageError`.
 */
export const readInterface = (file: string, args: Arguments): Imported => {
  const document = readFile(file);
  return document.interface === undefined ? importOpenApi(document, overlayOf(args)) : readDeclared(file, document);
};
