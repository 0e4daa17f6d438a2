/** What must hold, and what is aimed at. */
export interface Must {
  readonly name: string;
  readonly value: number;
  readonly limit: number;
  readonly atMost: boolean;
  readonly aim?: number;
}

export const isMet = ({ value, limit, atMost }: Must): boolean => (atMost ? value <= limit : value >= limit);

export const MUSTS = {
  roundTrips: (value: number): Must => ({
    name: 'claimless read, 1 caller: p50 in bus round trips',
    value,
    limit: 14,
    atMost: true,
    aim: 8,
  }),
  callsPerSecond: (value: number): Must => ({
    name: 'claimless read, 8 callers: calls a second',
    value,
    limit: 650,
    atMost: false,
    aim: 1_200,
  }),
  cpuMs: (value: number): Must => ({
    name: 'claimless read, 8 callers: CPU ms a call, all services and the bus',
    value,
    limit: 2,
    atMost: true,
  }),
  tools: (value: number): Must => ({
    name: 'p50 with 10,000 tools over p50 with 10',
    value,
    limit: 1.2,
    atMost: true,
  }),
  tenants: (value: number): Must => ({
    name: 'p50 over 500 tenants over p50 of 1',
    value,
    limit: 1.2,
    atMost: true,
  }),
  failed: (value: number): Must => ({ name: 'calls that did not end ok', value, limit: 0, atMost: true }),
} as const;
