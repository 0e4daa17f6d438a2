import type { ArtifactName } from '@toolfabric/ports';

/** Plain in RFC 8187, unlike in `encodeURIComponent`. */
const encodeExtended = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

/** Type and subtype, without parameters. */
const toEssence = (mediaType: string): string => {
  const essence = mediaType.split(';', 1)[0]?.trim() ?? '';
  return MEDIA_TYPE.test(essence) ? essence : 'application/octet-stream';
};

/** Every header is plain ASCII, whatever the name is. */
export const nameHeaders = ({ name, mediaType, trust }: ArtifactName): Record<string, string> => ({
  'toolfabric-name': `UTF-8''${encodeExtended(name)}`,
  'toolfabric-trust': trust,
  'content-type': toEssence(mediaType),
});
