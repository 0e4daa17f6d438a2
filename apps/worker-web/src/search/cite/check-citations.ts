import { FabricError, type Json, sha256Hex } from '@toolfabric/kernel';

/** What was stored, by the id that an answer names. */
export type StoredCopies = ReadonlyMap<string, { readonly bytes: Uint8Array; readonly sha256: string }>;

/** A result as it is told. */
export interface CitedResult {
  readonly address: string;
  /** The stored text that the offsets of its snippets count in. */
  readonly copy?: string;
  readonly snippets: readonly {
    readonly address: string;
    readonly from?: number;
    readonly to?: number;
    readonly text: string;
  }[];
  readonly [field: string]: Json | undefined;
}

const broken = (why: string): FabricError => new FabricError('output_invalid', `a citation cannot be checked: ${why}`);

const isAddress = (text: string): boolean => /^(?:https?|folder):\/\/\S+$/.test(text) && URL.canParse(text);

/**
 * Looks up every snippet of an answer in the copies that were stored, by the bytes that the store has proven to hold.
 * Returns how many were found there. Throws `output_invalid` for a snippet without an address, with the address of
 * another result, or whose offsets show something else.
 */
export const checkCitations = (results: readonly CitedResult[], copies: StoredCopies): number => {
  let checked = 0;
  for (const { address, copy, snippets } of results) {
    const stored = copy === undefined ? undefined : copies.get(copy);
    if (copy !== undefined && (stored === undefined || sha256Hex(stored.bytes) !== stored.sha256))
      throw broken('its copy is not what was stored');
    const whole = stored === undefined ? undefined : new TextDecoder('utf-8', { ignoreBOM: true }).decode(stored.bytes);
    for (const { from, to, text, ...snippet } of snippets) {
      if (!isAddress(snippet.address) || snippet.address !== address) throw broken('it does not name its address');
      if (text === '') throw broken('it shows nothing');
      if (whole === undefined && from === undefined && to === undefined) continue;
      if (whole === undefined || from === undefined || to === undefined || whole.slice(from, to) !== text)
        throw broken('its offsets do not show it');
      checked += 1;
    }
  }
  return checked;
};
