import { describe, expect, it } from 'vitest';
import { isNamed, isPublic } from './address-class.ts';

describe('an address that may be dialled without being named', () => {
  it.each(['1.1.1.1', '93.184.216.34', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1'])(
    '%s',
    (address) => expect(isPublic(address)).toBe(true),
  );

  it.each(
    `0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
     172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
     168.63.129.16 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
     :: ::1 ::127.0.0.1 ::ffff:8.8.8.8 ::ffff:127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1
     2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1
     ff02::1 fe80::1%eth0 2606:4700::1%1 2130706433x localhost`.split(/\s+/),
  )('SB-2: not %s', (address) => expect(isPublic(address)).toBe(false));
});

describe('an address that a permit names', () => {
  it('by ranges of its own family alone', () => {
    expect(isNamed('10.1.2.3', ['10.1.0.0/16'])).toBe(true);
    expect(isNamed('10.2.2.3', ['10.1.0.0/16'])).toBe(false);
    expect(isNamed('::ffff:10.1.2.3', ['10.1.0.0/16'])).toBe(false);
    expect(isNamed('fd00:1::5', ['10.0.0.0/8', 'fd00:1::/64'])).toBe(true);
    expect(isNamed('fd00:2::5%lo', ['::/0'])).toBe(false);
    expect(isNamed('nothing', ['0.0.0.0/0'])).toBe(false);
  });
});
