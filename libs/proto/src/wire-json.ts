import type { z } from 'zod';
import { WireMismatch } from './enum-codec.ts';

export type WireJson = z.infer<ReturnType<typeof z.json>>;

/** JSON text of a message; throws `WireMismatch` without the text. */
export const parseWireJson = (what: string, text: string): WireJson => {
  try {
    return JSON.parse(text) as WireJson;
  } catch {
    throw new WireMismatch(`${what} is not JSON`);
  }
};
