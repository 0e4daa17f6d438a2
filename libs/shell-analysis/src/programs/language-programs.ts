import { parseOptions } from './option-spec.ts';
import type { ProgramRule, Refusal } from './program-rule.ts';

const REPORTERS = ['spec', 'tap', 'dot', 'junit', 'lcov'];

const script = (operands: readonly string[]): Refusal | undefined => {
  const [file] = operands;
  if (file === undefined) return { argument: '', why: 'a file of the workspace has to be named' };
  return file === '-' ? { argument: '-', why: 'there is no standard input' } : undefined;
};

const insideWorkspace = (value: string): boolean => !value.startsWith('/') && !value.split('/').includes('..');

/** With `--test` the files are found by node itself. */
const node: ProgramRule = {
  style: 'first',
  options: parseOptions(
    '-c,--check -v,--version --test --test-only --test-concurrency= --test-name-pattern= --test-skip-pattern= --test-timeout= --test-force-exit --test-reporter= --test-reporter-destination= --experimental-test-coverage --enable-source-maps --no-warnings --trace-warnings --trace-uncaught --trace-deprecation --throw-deprecation --no-deprecation --unhandled-rejections= --experimental-strip-types --no-experimental-strip-types --max-old-space-size= --stack-trace-limit=',
  ),
  values: {
    '--test-reporter': (value) => REPORTERS.includes(value),
    '--test-reporter-destination': (value) => value === 'stdout' || value === 'stderr',
  },
};

const python: ProgramRule = {
  style: 'first',
  options: parseOptions('-b -B -E -I -O -OO -q -s -S -u -v -V,--version'),
  operands: script,
  env: { PYTHONDONTWRITEBYTECODE: '1' },
};

const pytest: ProgramRule = {
  style: 'gnu',
  options: parseOptions(
    '-k= -m= -x,--exitfirst --maxfail= -q,--quiet -v,--verbose -s -l,--showlocals --tb= --lf,--last-failed --ff,--failed-first --nf,--new-first --sw,--stepwise -r= --durations= --co,--collect-only --junit-xml,--junitxml= --no-header --no-summary --color= --disable-warnings --strict-markers --strict-config --import-mode= --ignore= --ignore-glob= --deselect=',
  ),
  values: { '--junitxml': insideWorkspace },
  noSeparator: true,
  env: { PYTHONDONTWRITEBYTECODE: '1' },
};

const npmScript: ProgramRule = {
  style: 'gnu',
  options: parseOptions('-s,--silent --if-present -w,--workspace= --workspaces --include-workspace-root'),
  passesOn: true,
};

const npm: ProgramRule = {
  style: 'gnu',
  options: new Map(),
  subcommands: {
    test: npmScript,
    t: npmScript,
    run: npmScript,
    'run-script': npmScript,
    ls: { style: 'gnu', options: parseOptions('-a,--all --depth= --json --long') },
  },
  env: {
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
  },
};

const target = (operands: readonly string[]): Refusal | undefined => {
  const other = operands.find((operand) => !/^[A-Za-z0-9_.][A-Za-z0-9_./%+-]*$/.test(operand));
  return other === undefined ? undefined : { argument: other, why: 'make takes names of targets, and no variables' };
};

const make: ProgramRule = {
  style: 'gnu',
  options: parseOptions(
    '-k,--keep-going -s,--silent,--quiet -n,--just-print,--dry-run,--recon -B,--always-make -j,--jobs=? -w,--print-directory --no-print-directory -i,--ignore-errors -q,--question -v,--version --trace',
  ),
  operands: target,
};

const goRule = (options: string): ProgramRule => ({ style: 'go', options: parseOptions(options) });

const go: ProgramRule = {
  style: 'go',
  options: new Map(),
  subcommands: {
    test: {
      ...goRule(
        '-v -run= -skip= -count= -short -race -timeout= -json -bench= -benchtime= -benchmem -cover -coverprofile= -covermode= -failfast -parallel= -shuffle= -tags= -list= -p= -cpu=',
      ),
      values: { '-coverprofile': insideWorkspace },
    },
    build: { ...goRule('-v -o= -tags= -race -p='), values: { '-o': insideWorkspace } },
    vet: goRule('-v -json -tags='),
    run: { ...goRule('-race -tags= -p='), style: 'go' },
    list: goRule('-json -m -deps -e -test'),
    version: goRule('-m'),
    env: {
      ...goRule('-json'),
      operands: (names) =>
        names.some((name) => name.includes('='))
          ? { argument: names.find((name) => name.includes('=')) ?? '', why: 'go env only reads here' }
          : undefined,
    },
  },
  env: { GOPROXY: 'off', GOTELEMETRY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '' },
};

const CARGO =
  '-v,--verbose -q,--quiet -r,--release -p,--package= --workspace --all --exclude= --lib --bins --bin= --test= --tests --example= --examples --bench= --benches --doc --no-run --no-fail-fast --all-targets -F,--features= --all-features --no-default-features -j,--jobs= --message-format= --offline --locked --frozen --color= --profile=';

const cargoRule: ProgramRule = { style: 'gnu', options: parseOptions(CARGO), passesOn: true };

const cargo: ProgramRule = {
  style: 'gnu',
  options: new Map(),
  subcommands: {
    test: cargoRule,
    check: { ...cargoRule, passesOn: false },
    build: { ...cargoRule, passesOn: false },
    run: cargoRule,
    clippy: { ...cargoRule, passesOn: false },
    fmt: { style: 'gnu', options: parseOptions('--check --all -v,--verbose -q,--quiet') },
    metadata: { style: 'gnu', options: parseOptions('--format-version= --no-deps --offline --locked --frozen') },
    tree: { style: 'gnu', options: parseOptions('-p,--package= --depth= -i,--invert= --offline --locked --frozen') },
  },
  env: { CARGO_NET_OFFLINE: 'true' },
};

/** Programs that run what the workspace holds, and nothing that comes in an argument. */
export const LANGUAGE_PROGRAMS: Readonly<Record<string, ProgramRule>> = {
  node,
  python3: python,
  pytest,
  npm,
  make,
  go,
  cargo,
};
