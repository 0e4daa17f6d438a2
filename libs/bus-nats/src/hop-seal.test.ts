import { describe, expect, it } from 'vitest';
import { HopSeals } from './hop-seal.ts';
import { generateBusKeys } from './nkeys.ts';

const { seeds, publicKeys } = generateBusKeys(['cli', 'web']);
const sealsOf = (user: string) => new HopSeals({ user, nkeySeed: seeds[user] ?? '', publicKeys });
const bytes = (text: string) => Buffer.from(text, 'utf8');
const [gateway, router, cli, web] = ['gateway', 'router', 'worker-cli', 'worker-web'].map(sealsOf) as [
  HopSeals,
  HopSeals,
  HopSeals,
  HopSeals,
];

describe('OP-6: what one service says to another', () => {
  it.each(['{}', '', 'ä €', '{"text":"\\u0000"}', 'x'.repeat(60_000)])('is opened by the other: %.20s', (text) => {
    const closed = gateway.with('router').close('rpc startCall', text);
    expect(router.with('gateway').open('rpc startCall', bytes(closed))?.toString('utf8')).toBe(text);
    expect(closed.endsWith(text)).toBe(true);
  });

  const closed = bytes(gateway.with('router').close('rpc startCall', '{"a":1}'));

  it('fits no other place, nobody else, and no other text', () => {
    const open = router.with('gateway');
    expect(open.open('rpc cancelCall', closed)).toBeUndefined();
    expect(open.open('reply startCall', closed)).toBeUndefined();
    expect(router.with('worker-cli').open('rpc startCall', closed)).toBeUndefined();
    expect(cli.with('gateway').open('rpc startCall', closed)).toBeUndefined();
    for (let at = 0; at < closed.length; at += 1) {
      const bent = Buffer.from(closed);
      bent[at] = (bent[at] ?? 0) ^ 1;
      expect(open.open('rpc startCall', bent), `byte ${at}`).toBeUndefined();
    }
    expect(open.open('rpc startCall', Buffer.concat([closed, bytes(' ')]))).toBeUndefined();
    expect(open.open('rpc startCall', closed.subarray(0, -1))).toBeUndefined();
  });

  it.each(['', '{"a":1}', 'x'.repeat(43), `${'A'.repeat(43)}{}`, '🙂'.repeat(20)])(
    'without a code is nothing: %j',
    (text) => {
      expect(router.with('gateway').open('rpc startCall', bytes(text))).toBeUndefined();
    },
  );

  it('a worker of one kind cannot speak for another', () => {
    const forged = web.with('router').close('result r.cli.1', '{}');
    expect(router.with('worker-cli').open('result r.cli.1', bytes(forged))).toBeUndefined();
    expect(router.with('worker-web').open('result r.cli.1', bytes(forged))?.toString()).toBe('{}');
  });

  it('whoever has another key of the same name is not believed', () => {
    const other = generateBusKeys(['cli']);
    const forger = new HopSeals({ user: 'gateway', nkeySeed: other.seeds['gateway'] ?? '', publicKeys });
    const forged = bytes(forger.with('router').close('rpc startCall', '{}'));
    expect(router.with('gateway').open('rpc startCall', forged)).toBeUndefined();
  });

  it('a view into a larger buffer is read as itself', () => {
    const around = Buffer.concat([bytes('xx'), closed, bytes('yy')]);
    expect(
      router
        .with('gateway')
        .open('rpc startCall', around.subarray(2, 2 + closed.length))
        ?.toString(),
    ).toBe('{"a":1}');
  });

  it('nothing is said to somebody who is not known, and nothing believed', () => {
    expect(() => router.with('stranger')).toThrow('stranger');
    expect(router.of('stranger')).toBeUndefined();
    expect(router.of('constructor')).toBeUndefined();
    expect(() => new HopSeals({ user: 'router', nkeySeed: 'SUnone', publicKeys }).with('gateway')).toThrow();
    expect(() =>
      new HopSeals({ user: 'router', nkeySeed: seeds['router'] ?? '', publicKeys: { a: 'U1' } }).with('a'),
    ).toThrow();
  });
});
