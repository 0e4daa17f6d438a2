import { FabricError } from '@toolfabric/kernel';
import { RequestBroken } from '@toolfabric/ports';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { type Content, type ContentSource, readContent } from '../../content/read-content.ts';
import type { Driver } from '../../driver.ts';
import { timed } from '../../fetch/ask-once.ts';
import { fetchAddress } from '../../fetch/fetch-address.ts';
import { mediaTypeOf } from '../local/document-text.ts';
import { addressBelow, pathOf } from '../local/folder-address.ts';
import type { LocalIndex } from '../local/local-index.ts';

export type ReaderDriver = Pick<Driver, 'robots' | 'agent' | 'limits' | 'cache' | 'reader'> & {
  readonly localIndex: LocalIndex | undefined;
};

/** A document as it was read, and from where after all redirects; or why it was not. */
export type DocumentRead =
  | {
      readonly text: string;
      /** There was more of it. */
      readonly isCut: boolean;
      readonly title: string;
      readonly address: string;
      readonly canonical: string;
    }
  | { readonly notRead: string };

/** Links of a file are resolved against a name that no host has. */
const NO_HOST = 'http://folder.invalid/';
/** Code units of a text that are stored and cited from. A file of the folder is never longer. */
const MOST_TEXT = 1024 ** 2;
/** Milliseconds for one document: whoever is slower is told of without its text. */
const READ_MS = 10_000;

const fromFolder = (driver: ReaderDriver, { actor }: ToolContext, path: string): ContentSource | string => {
  const file = driver.localIndex?.read(actor.tenant, path);
  if (file === undefined) return 'it is not there any more';
  return { body: file.bytes, contentType: mediaTypeOf(path), address: `${NO_HOST}${addressBelow(path)}` };
};

const fromWeb = async (
  driver: ReaderDriver,
  { egress, actor }: ToolContext,
  address: string,
  signal: AbortSignal,
): Promise<ContentSource | string> => {
  if (egress === undefined) return 'this call may not go there';
  const url = new URL(address);
  url.hash = '';
  const fetched = await fetchAddress(driver, { tenant: actor.tenant, egress, method: 'GET', url, signal });
  if (fetched.unfollowed !== undefined) return 'it leads to where this call does not follow';
  if (fetched.status !== 200) return `it answered with status ${fetched.status}`;
  return { body: fetched.body, contentType: fetched.headers['content-type'], address: fetched.address };
};

const WHY: Readonly<Partial<Record<FabricError['type'], string>>> = {
  egress_refused: 'the way out does not let this call go there',
  egress_unavailable: 'there is no way out at the moment',
  host_unreachable: 'its host cannot be reached',
  denied_by_robots: 'its site does not allow robots there',
  content_refused: 'its content cannot be read',
  overloaded: 'too many pages wait to be read',
};

const whyNot = (thrown: unknown): string => {
  if (thrown instanceof RequestBroken || !(thrown instanceof FabricError)) return 'its host broke off';
  return WHY[thrown.type] ?? `it failed with ${thrown.type}`;
};

const readable = ({ form, text, title, canonical }: Content, address: string, ctx: ToolContext): DocumentRead => {
  if (form === 'binary' || text.trim() === '') return { notRead: 'it holds no text' };
  // Before it is cut: of half a secret nobody would know that it is one.
  const whole = ctx.redactor.text(text);
  const isCut = whole.length > MOST_TEXT;
  return { text: isCut ? whole.slice(0, MOST_TEXT).toWellFormed() : whole, isCut, title, address, canonical };
};

/**
 * Reads what a result names, as `url.fetch` would. Never rejects but with the reason of the call's signal.
 *
 * @param until milliseconds since the epoch, when the answer has to be written.
 */
export const readDocument = async (
  driver: ReaderDriver,
  ctx: ToolContext,
  address: string,
  until: number,
): Promise<DocumentRead> => {
  const patience = Math.min(READ_MS, until - ctx.clock.now());
  if (patience <= 0) return { notRead: 'there was no time left for it' };
  const time = timed(ctx.signal, patience);
  try {
    const path = pathOf(address);
    const source =
      path === undefined ? await fromWeb(driver, ctx, address, time.signal) : fromFolder(driver, ctx, path);
    if (typeof source === 'string') return { notRead: source };
    const content = await readContent(driver.reader, source, 'markdown', time.signal);
    return readable(content, path === undefined ? source.address : address, ctx);
  } catch (thrown) {
    ctx.signal.throwIfAborted();
    return { notRead: time.isLate() ? `it was not read within ${patience} ms` : whyNot(thrown) };
  } finally {
    time.stop();
  }
};
