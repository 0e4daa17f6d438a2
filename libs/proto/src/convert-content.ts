import type { ContentBlock } from '@toolfabric/contract';
import type * as wire from './gen/toolfabric/v1/result.ts';

export const contentBlockToWire = (block: ContentBlock): wire.ContentBlock => ({ block: blockToWire(block) });

const blockToWire = (block: ContentBlock): wire.ContentBlock['block'] => {
  switch (block.type) {
    case 'text':
      return { $case: 'text', value: { text: block.text } };
    case 'image':
    case 'audio':
      return {
        $case: block.type,
        value: { mediaType: block.mediaType, data: Buffer.from(block.dataBase64, 'base64') },
      };
    case 'file':
      return { $case: 'file', value: { name: block.name, mediaType: block.mediaType, artifact: block.artifact } };
    case 'citation':
      return { $case: 'citation', value: { url: block.url, text: block.text } };
    case 'resource_link':
      return { $case: 'resourceLink', value: { uri: block.uri, name: block.name } };
    case 'resource':
      return { $case: 'resource', value: { uri: block.uri, mediaType: block.mediaType, text: block.text } };
  }
};

/** A kind of block that this side does not know becomes a line of text that says so. */
export const contentBlockFromWire = ({ block }: wire.ContentBlock): ContentBlock => {
  switch (block?.$case) {
    case undefined:
      return { type: 'text', text: '[content of a kind that this client does not know]' };
    case 'text':
      return { type: 'text', text: block.value.text };
    case 'image':
    case 'audio':
      return {
        type: block.$case,
        mediaType: block.value.mediaType,
        dataBase64: block.value.data.toString('base64'),
      };
    case 'file':
      return { type: 'file', ...pick(block.value, 'name', 'mediaType', 'artifact') };
    case 'citation':
      return { type: 'citation', ...pick(block.value, 'url', 'text') };
    case 'resourceLink': {
      const { uri, name } = block.value;
      return { type: 'resource_link', uri, ...(name === undefined ? {} : { name }) };
    }
    case 'resource': {
      const { uri, mediaType, text } = block.value;
      return { type: 'resource', uri, ...(mediaType === undefined ? {} : { mediaType }), text };
    }
  }
};

const pick = <T, K extends keyof T>(value: T, ...keys: K[]): Pick<T, K> =>
  Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<T, K>;
