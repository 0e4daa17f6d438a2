import { EXIT } from '../cli/exit-codes.ts';
import { type Context, JSON_FLAG, type Verb } from '../cli/verb.ts';
import { policyExplain, policyReplay } from './policy-past.ts';

const CONTRACT_FLAG = {
  contracts: {
    type: 'string',
    value: 'DIR',
    multiple: true,
    help: 'folder of contracts (YAML) beside those that come with the fabric',
  },
} as const;

const folderOf = ({ args }: Context): string => args.positionals[0] ?? '.';

const check: Verb = {
  name: 'policy check',
  summary: 'Check a folder of policies against the contracts of the tools; says file and line.',
  usage: '<folder>',
  positionals: [1, 1],
  flags: { ...CONTRACT_FLAG, ...JSON_FLAG },
  notes:
    'Exit code 0 when all of it may be enforced, 1 when something may not. docs/policy.md tells how rules are written.',
  run: async (context) => {
    const { contractsOf, openFolder, problemsIn } = await import('../policy/policy-folder.ts');
    const folder = openFolder(folderOf(context));
    const problems = problemsIn(folder, contractsOf(context.args));
    const isFit = problems.every(({ isWarning }) => isWarning);
    const lines = problems.map(
      ({ path, line, message, isWarning }) => `${path}:${line}: ${isWarning ? 'warning: ' : ''}${message}`,
    );
    const all = isFit ? `${folder.active.tenants.size} tenants: all of it may be enforced` : 'not fit to be enforced';
    context.output.show({ fit: isFit, problems }, [...lines, all].join('\n'));
    return isFit ? EXIT.ok : EXIT.toolError;
  },
};

const test: Verb = {
  name: 'policy test',
  summary: 'Run the cases that stand beside the policies (tenants/<tenant>/*.test.yaml).',
  usage: '<folder>',
  positionals: [1, 1],
  flags: { ...CONTRACT_FLAG, ...JSON_FLAG },
  notes: 'Exit code 0 when every case passed, 1 when one did not or there is none.',
  run: async (context) => {
    const [{ casesIn, contractsOf, engineOf, openFolder }, { runCase }] = await Promise.all([
      import('../policy/policy-folder.ts'),
      import('@toolfabric/policy-cedar'),
    ]);
    const root = folderOf(context);
    const folder = openFolder(root);
    const contracts = contractsOf(context.args);
    const active = engineOf(folder.active, contracts);
    const shadow = folder.shadow && engineOf(folder.shadow, contracts);
    const results = casesIn(root).flatMap(({ path, tenant, isShadow, cases }) =>
      cases.map((one) => ({ path, ...runCase(isShadow && shadow ? shadow : active, one, tenant, contracts) })),
    );
    const failed = results.filter(({ passed }) => !passed);
    const lines = failed.map(({ path, name, got }) => `${path}: ${name}: got ${got}`);
    const all = `${results.length - failed.length} of ${results.length} cases passed`;
    context.output.show(
      { passed: results.length - failed.length, failed: failed.length, results },
      [...lines, all].join('\n'),
    );
    return failed.length === 0 && results.length > 0 ? EXIT.ok : EXIT.toolError;
  },
};

export const POLICY_VERBS: readonly Verb[] = [check, test, policyExplain(CONTRACT_FLAG), policyReplay(CONTRACT_FLAG)];
