import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { ArtifactRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { create } from 'content-disposition';
import type { ArtifactHead } from '../archive/put-artifact.ts';

const OPAQUE = 'application/octet-stream';
/** A browser that shows one of these runs nothing of it. */
const SAFE_TYPES = new Map([
  ['text/plain', 'text/plain; charset=utf-8'],
  ['application/json', 'application/json'],
  ['image/png', 'image/png'],
  ['image/jpeg', 'image/jpeg'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
]);
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,99}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}$/;
const EXTENDED = /^UTF-8'[A-Za-z0-9-]{0,20}'((?:[A-Za-z0-9!#$&+.^_`|~-]|%[0-9A-Fa-f]{2})*)$/i;
const MAX_NAME = 200;

/** Separators, control and format characters (bidi among them), halves of a pair, and what some systems refuse in names. */
const UNSAFE_IN_NAMES = /[/\\:*?"<>|\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** What the request says of its artifact; undefined without a name. Throws `invalid_request` for a name that is none. */
export const readArtifactHead = (id: string, headers: IncomingHttpHeaders): ArtifactHead | undefined => {
  const given = headers['toolfabric-name'];
  if (given === undefined) return undefined;
  const trust = headers['toolfabric-trust'] ?? 'untrusted';
  if (trust !== 'trusted' && trust !== 'untrusted') {
    throw new FabricError('invalid_request', '`toolfabric-trust` is trusted or untrusted');
  }
  return { id, name: parseName(String(given)), mediaType: toMediaType(headers['content-type']), trust };
};

/** RFC 8187: `UTF-8''` and percent-encoded UTF-8. */
const parseName = (header: string): string => {
  const encoded = EXTENDED.exec(header)?.[1];
  const name = encoded === undefined ? undefined : decodeOrNothing(encoded);
  if (name === undefined || name.length < 1 || name.length > MAX_NAME) {
    throw new FabricError('invalid_request', "`toolfabric-name` is UTF-8'' and a name of up to 200 characters");
  }
  return name;
};

const decodeOrNothing = (encoded: string): string | undefined => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
};

/** Type and subtype; parameters, and what is no media type, are left away. */
const toMediaType = (header: string | undefined): string => {
  const essence = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return MEDIA_TYPE.test(essence) ? essence : OPAQUE;
};

/** A name that no system takes for a path, a command or a hidden file. */
export const downloadName = (name: string): string => {
  const safe = name.replace(UNSAFE_IN_NAMES, '_').replace(/^[.\s]+|[.\s]+$/g, '_');
  return safe === '' ? '_' : safe;
};

/** Whatever the bytes, the name and the type are: a browser saves them, and does neither guess nor run. */
export const downloadHeaders = (record: ArtifactRecord): OutgoingHttpHeaders => ({
  'content-type': SAFE_TYPES.get(record.mediaType) ?? OPAQUE,
  'content-disposition': create(downloadName(record.name)),
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-store',
  'accept-ranges': 'bytes',
  'toolfabric-state': record.state,
  'toolfabric-trust': record.trust,
  ...(record.sha256 === undefined ? {} : { etag: `"${record.sha256}"` }),
  ...(record.dropped === 0 ? {} : { 'toolfabric-dropped': record.dropped, 'toolfabric-gap-at': record.gapAt ?? 0 }),
});
