import { ERROR_TABLE } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { ArtifactName, StoredArtifact } from '@toolfabric/ports';
import type { ToolContext } from '@toolfabric/worker-runtime';
import type { Content } from '../content/read-content.ts';
import { timed } from '../fetch/ask-once.ts';

/** Milliseconds for one copy; a store that takes longer is not waited for. */
const STORE_MS = 20_000;

/** What became of a copy: stored, or the reason why there is none. */
export type Copy = { readonly stored: StoredArtifact } | { readonly missing: string };

const ENDINGS: Readonly<Record<string, string>> = {
  html: 'html',
  json: 'json',
  text: 'txt',
  pdf: 'pdf',
  binary: 'bin',
};

const reasonOf = (thrown: unknown): string =>
  thrown instanceof FabricError
    ? `${thrown.type}: ${ERROR_TABLE[thrown.type].meaning}`
    : 'the artifact store does not answer';

async function* parts(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const size = 256 * 1024;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Never rejects but with the reason of the call's signal: without a copy the answer is still one. */
export const storeCopy = async (ctx: ToolContext, name: ArtifactName, bytes: Uint8Array): Promise<Copy> => {
  if (ctx.artifacts === undefined) return { missing: 'this call may store no artifact' };
  const time = timed(ctx.signal, STORE_MS);
  try {
    return { stored: await ctx.artifacts.put(name, parts(bytes), time.signal) };
  } catch (thrown) {
    ctx.signal.throwIfAborted();
    return { missing: time.isLate() ? 'the artifact store takes nothing' : reasonOf(thrown) };
  } finally {
    time.stop();
  }
};

/** The body as it came, without its encodings: text in UTF-8 and redacted, anything else byte by byte. */
export const storeBody = (ctx: ToolContext, { decoded, form, mediaType }: Content, body: Buffer): Promise<Copy> => {
  const bytes = decoded === undefined ? body : Buffer.from(ctx.redactor.text(decoded), 'utf8');
  const named = { name: `body.${ENDINGS[form] ?? 'bin'}`, mediaType, trust: 'untrusted' } as const;
  return storeCopy(ctx, named, bytes);
};

/** The whole text of which the result shows a part; offsets of the result are offsets into it. */
export const storeText = (ctx: ToolContext, text: string, isMarkdown: boolean): Promise<Copy> =>
  storeCopy(
    ctx,
    {
      name: isMarkdown ? 'text.md' : 'text.txt',
      mediaType: isMarkdown ? 'text/markdown' : 'text/plain',
      trust: 'untrusted',
    },
    Buffer.from(text, 'utf8'),
  );
