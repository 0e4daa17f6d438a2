import { describe, expect, it, vi } from 'vitest';
import { armFaultPoints, FAULT_POINTS, noFaults, parseFaults } from './fault-points.ts';

describe('parseFaults', () => {
  it('reads point, action and hit', () => {
    expect(parseFaults('')).toEqual([]);
    expect(parseFaults('worker.started:pause:2,router.before-settle')).toEqual([
      { point: 'worker.started', action: 'pause', hit: 2 },
      { point: 'router.before-settle', action: 'kill', hit: 1 },
    ]);
  });

  it.each([
    'worker.nowhere',
    'worker.started:stop',
    'worker.started:kill:x',
    'worker.started:kill:0',
    'worker.started:kill:-1',
    ' ',
  ])('%j is refused: a test that arms nothing would prove nothing', (text) =>
    expect(() => parseFaults(text)).toThrow(),
  );
});

describe('armFaultPoints', () => {
  it('does nothing in production, and cannot be made to', () => {
    expect(armFaultPoints([], false)).toBe(noFaults);
    expect(() => armFaultPoints([{ point: 'worker.started', action: 'kill', hit: 1 }], false)).toThrow('tests only');
    for (const point of FAULT_POINTS) expect(noFaults.at(point)).toBeUndefined();
  });

  it('an armed point counts its own hits', () => {
    const faults = armFaultPoints([{ point: 'worker.started', action: 'kill', hit: 1_000 }], true);
    const killed = vi.spyOn(process, 'kill').mockReturnValue(true);
    for (let i = 0; i < 999; i += 1) faults.at('worker.started');
    for (let i = 0; i < 1_500; i += 1) faults.at('worker.claimed');
    expect(killed).not.toHaveBeenCalled();
    faults.at('worker.started');
    faults.at('worker.started');
    expect(killed.mock.calls).toEqual([[process.pid, 'SIGKILL']]);
    killed.mockRestore();
  });
});
