import { ARCHITECTURES, type Architecture, LOOKED_AT, numberOf, REFUSED } from './syscalls.ts';

/** Classic BPF, as the kernel takes it for seccomp: 8 bytes an instruction, in the order of the machine. */
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refuseWith = (errno: number): number => 0x00050000 | errno;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Offsets in `struct seccomp_data`; both architectures are little-endian. */
const AT = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index };

/** Namespaces of every kind. `CLONE_NEWTIME` shares its bit with the exit signal of `clone`, which has none of it. */
const NEW_NAMESPACES = 0x7e020000;
/** Unix, IPv4, IPv6 and netlink: the only families that belong to a network namespace and that programs need. */
const FAMILIES = [1, 2, 10, 16];
/** Puts characters into the input of a terminal. */
const TERMINAL_INPUT = [0x5412, 0x541c];

interface Instruction {
  readonly code: number;
  readonly jt: number;
  readonly jf: number;
  readonly k: number;
}

const load = (k: number): Instruction => ({ code: LOAD, jt: 0, jf: 0, k });
const give = (k: number): Instruction => ({ code: RETURN, jt: 0, jf: 0, k });
/** Goes on when it is so, else passes over `skip` instructions. */
const unless = (code: number, k: number, skip: number): Instruction => ({ code, jt: 0, jf: skip, k });

/** `body` runs for one system call only; the number stands in the accumulator before and after it. */
const only = (number: number | undefined, body: readonly Instruction[]): Instruction[] =>
  number === undefined ? [] : [unless(JUMP_EQUAL, number, body.length), ...body];

const equalsAny = (values: readonly number[], verdict: number): Instruction[] =>
  values.flatMap((value) => [unless(JUMP_EQUAL, value, 1), give(verdict)]);

const bodies = (architecture: Architecture): Instruction[] => {
  const number = (name: keyof typeof LOOKED_AT) => numberOf(LOOKED_AT[name], architecture);
  return [
    ...only(number('clone'), [
      load(AT.argument(0)),
      unless(JUMP_ANY_BIT, NEW_NAMESPACES, 1),
      give(refuseWith(EPERM)),
      give(ALLOW),
    ]),
    // Its flags lie in memory, where no filter can see them: the C library falls back to `clone`.
    ...only(number('clone3'), [give(refuseWith(ENOSYS))]),
    ...only(number('socket'), [load(AT.argument(0)), ...equalsAny(FAMILIES, ALLOW), give(refuseWith(EAFNOSUPPORT))]),
    ...only(number('ioctl'), [load(AT.argument(1)), ...equalsAny(TERMINAL_INPUT, refuseWith(EPERM)), give(ALLOW)]),
  ];
};

const refusals = (architecture: Architecture): Instruction[] =>
  Object.values(REFUSED).flatMap((numbers) => only(numberOf(numbers, architecture), [give(refuseWith(EPERM))]));

const encode = (program: readonly Instruction[]): Buffer => {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, jt, jf, k }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jt, index * 8 + 2);
    bytes.writeUInt8(jf, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  }
  return bytes;
};

const isKnown = (architecture: string): architecture is Architecture => Object.hasOwn(ARCHITECTURES, architecture);

/**
 * The filter that every command runs under, for bubblewrap's `--seccomp`; undefined for an architecture whose numbers
 * are not known here. Another architecture on the same machine (32-bit programs) is ended: its numbers mean other calls.
 */
export const seccompFilter = (architecture: string = process.arch): Buffer | undefined => {
  if (!isKnown(architecture)) return undefined;
  const { audit, foreignFrom } = ARCHITECTURES[architecture];
  return encode([
    load(AT.architecture),
    { code: JUMP_EQUAL, jt: 1, jf: 0, k: audit },
    give(KILL),
    load(AT.number),
    ...(foreignFrom === undefined ? [] : [unless(JUMP_AT_LEAST, foreignFrom, 1), give(refuseWith(ENOSYS))]),
    ...bodies(architecture),
    ...refusals(architecture),
    give(ALLOW),
  ]);
};
