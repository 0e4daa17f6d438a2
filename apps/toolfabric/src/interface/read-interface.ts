import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { type Imported, InterfaceOverlay, importOpenApi, MAX_DOCUMENT, readDocument } from '@toolfabric/catalogue';
import { FabricError } from '@toolfabric/kernel';
import type { Arguments } from '../cli/arguments.ts';
import { UsageError } from '../cli/usage-error.ts';

type Document = ReturnType<typeof readDocument>;

/** A YAML or JSON document of at most `MAX_DOCUMENT` bytes. Throws `contract_invalid` or `UsageError`. */
export const readFile = (file: string): Document => {
  const stat = statSync(file, { throwIfNoEntry: false });
  // A device or a pipe has no end that could be known before it is read.
  if (stat?.isFile() !== true) throw new UsageError(`${file}: there is no such file`);
  if (stat.size > MAX_DOCUMENT) throw new FabricError('contract_invalid', `${file}: larger than ${MAX_DOCUMENT} bytes`);
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

/** Where its links lead, too. What is not there is found missing when it is read. */
const isWithin = (folder: string, file: string): boolean =>
  !existsSync(file) || realpathSync(file).startsWith(join(realpathSync(folder), sep));

/** A declaration that somebody else has written names a file of its own folder, and no other one of this machine. */
const besideOf = (file: string, name: string): string => {
  const folder = dirname(resolve(file));
  const named = resolve(folder, name);
  const isBeside = !isAbsolute(name) && named.startsWith(join(folder, sep)) && isWithin(folder, named);
  if (isBeside) return named;
  throw new FabricError('contract_invalid', `openapi: ${name.slice(0, 100)} is not in the folder of the declaration`);
};

/** A declaration stands alone, or beside the OpenAPI document that it names. */
const readDeclared = (file: string, declared: Document): Imported => {
  const overlay = InterfaceOverlay.safeParse(declared);
  const beside = overlay.success ? overlay.data.openapi : undefined;
  // Without a document each operation says everything itself.
  const openapi = beside === undefined ? { openapi: '3.1.0', paths: {} } : readFile(besideOf(file, beside));
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
