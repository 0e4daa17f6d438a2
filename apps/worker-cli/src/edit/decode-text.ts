import { FabricError } from '@toolfabric/kernel';

/** Text of a file, a byte order mark included; throws `binary_file` for NUL and for invalid UTF-8. */
export const decodeText = (bytes: Uint8Array, shownPath: string): string => {
  if (bytes.includes(0)) throw new FabricError('binary_file', `${shownPath} holds binary data`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (thrown) {
    throw new FabricError('binary_file', `${shownPath} is not valid UTF-8`, { cause: thrown });
  }
};
