import type { ArtifactName } from '@toolfabric/ports';

/** Plain in RFC 8187, unlike in `encodeURIComponent`. */
const encodeExtended = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

/** Every header is plain ASCII, whatever the name is. */
export const nameHeaders = ({ name, mediaType, trust }: ArtifactName): Record<string, string> => ({
  'toolfabric-name': `UTF-8''${encodeExtended(name)}`,
  'toolfabric-trust': trust,
  'content-type': MEDIA_TYPE.test(mediaType) ? mediaType : 'application/octet-stream',
});
