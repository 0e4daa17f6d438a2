import type { z } from 'zod';
import type { Arm, Settings } from './modes.ts';

const post = async (address: string, path: string, body: unknown): Promise<void> => {
  const response = await fetch(`http://${address}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (response.status !== 200) throw new Error(`the tracker answered ${response.status} to ${path}`);
};

/** What a test tells the tracker. */
export const armTracker = (address: string, arm: z.input<typeof Arm>): Promise<void> => post(address, '/arm', arm);
export const disarmTracker = (address: string): Promise<void> => post(address, '/disarm', {});
export const setTracker = (address: string, settings: Settings): Promise<void> => post(address, '/settings', settings);
