/** Numbers of one architecture; left out where it does not have the call. */
interface Numbers {
  readonly x64?: number;
  readonly arm64?: number;
}

const both = (x64: number, arm64: number): Numbers => ({ x64, arm64 });

/**
 * System calls that no command needs and that reach beyond its own processes: other processes, mounts, namespaces,
 * keyrings, kernel modules, and what has been a way out of a sandbox before.
 */
export const REFUSED: Readonly<Record<string, Numbers>> = {
  ptrace: both(101, 117),
  process_vm_readv: both(310, 270),
  process_vm_writev: both(311, 271),
  kcmp: both(312, 272),
  pidfd_getfd: both(438, 438),
  process_madvise: both(440, 440),
  add_key: both(248, 217),
  request_key: both(249, 218),
  keyctl: both(250, 219),
  mount: both(165, 40),
  umount2: both(166, 39),
  pivot_root: both(155, 41),
  chroot: both(161, 51),
  open_tree: both(428, 428),
  move_mount: both(429, 429),
  fsopen: both(430, 430),
  fsconfig: both(431, 431),
  fsmount: both(432, 432),
  fspick: both(433, 433),
  mount_setattr: both(442, 442),
  unshare: both(272, 97),
  setns: both(308, 268),
  bpf: both(321, 280),
  perf_event_open: both(298, 241),
  userfaultfd: both(323, 282),
  io_uring_setup: both(425, 425),
  io_uring_enter: both(426, 426),
  io_uring_register: both(427, 427),
  kexec_load: both(246, 104),
  kexec_file_load: both(320, 294),
  init_module: both(175, 105),
  finit_module: both(313, 273),
  delete_module: both(176, 106),
  reboot: both(169, 142),
  swapon: both(167, 224),
  swapoff: both(168, 225),
  syslog: both(103, 116),
  acct: both(163, 89),
  quotactl: both(179, 60),
  quotactl_fd: both(443, 443),
  open_by_handle_at: both(304, 265),
  lookup_dcookie: both(212, 18),
  nfsservctl: both(180, 42),
  settimeofday: both(164, 170),
  clock_settime: both(227, 112),
  clock_adjtime: both(305, 266),
  adjtimex: both(159, 171),
  sethostname: both(170, 161),
  setdomainname: both(171, 162),
  vhangup: both(153, 58),
  iopl: { x64: 172 },
  ioperm: { x64: 173 },
  modify_ldt: { x64: 154 },
};

/** Calls that are looked at more closely, with the argument that decides. */
export const LOOKED_AT = { clone: both(56, 220), clone3: both(435, 435), socket: both(41, 198), ioctl: both(16, 29) };

export const ARCHITECTURES = {
  x64: { audit: 0xc000003e, foreignFrom: 0x40000000 },
  arm64: { audit: 0xc00000b7, foreignFrom: undefined },
} as const;
export type Architecture = keyof typeof ARCHITECTURES;

export const numberOf = (numbers: Numbers, architecture: Architecture): number | undefined => numbers[architecture];
