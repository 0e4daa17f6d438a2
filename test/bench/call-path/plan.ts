/** How long everything is measured, in milliseconds, and how often it is repeated. */
export interface Plan {
  /** Calls of each tool before anything is measured: the services compile their code meanwhile. */
  readonly warmUpCalls: number;
  readonly levels: readonly Level[];
  readonly scale: { readonly rounds: number; readonly sliceMs: number };
  readonly hopCalls: number;
  readonly profileMs: number;
}

export interface Level {
  readonly callers: number;
  readonly rounds: number;
  /** One slice of each bare measure. */
  readonly bareMs: number;
  /** One slice of each call through the fabric. */
  readonly fabricMs: number;
}

export const FULL: Plan = {
  warmUpCalls: 3_000,
  levels: [
    { callers: 1, rounds: 7, bareMs: 500, fabricMs: 1_500 },
    { callers: 8, rounds: 5, bareMs: 600, fabricMs: 2_500 },
    { callers: 64, rounds: 3, bareMs: 600, fabricMs: 2_500 },
  ],
  scale: { rounds: 8, sliceMs: 900 },
  hopCalls: 800,
  profileMs: 6_000,
};

export const QUICK: Plan = {
  warmUpCalls: 800,
  levels: [
    { callers: 1, rounds: 2, bareMs: 150, fabricMs: 700 },
    { callers: 8, rounds: 2, bareMs: 150, fabricMs: 900 },
    { callers: 64, rounds: 1, bareMs: 200, fabricMs: 1_000 },
  ],
  scale: { rounds: 3, sliceMs: 500 },
  hopCalls: 200,
  profileMs: 3_000,
};

export const SCALE = { fewTools: 10, manyTools: 10_000, fewTenants: 1, manyTenants: 500 } as const;
