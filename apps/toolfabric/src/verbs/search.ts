import { EXIT } from '../cli/exit-codes.ts';
import { JSON_FLAG, type Verb } from '../cli/verb.ts';

const contract: Verb = {
  name: 'search contract',
  summary: 'Make the contract of web.search for the providers of an installation.',
  usage: '<search.yaml|search.json>',
  positionals: [1, 1],
  flags: JSON_FLAG,
  notes:
    'Exit code 0 when the contract could be published, 1 when it could not; what is wrong is said either way.\n' +
    'Publish it with `toolfabric tools put-draft` and `toolfabric tools publish`. docs/search.md tells the rest.',
  run: async ({ args, output }) => {
    const [{ loadBuiltinContracts, parseSearchSetup, searchContract, writeYaml }, { readFile }, { reviewContracts }] =
      await Promise.all([
        import('@toolfabric/catalogue'),
        import('../interface/read-interface.ts'),
        import('../interface/review-contracts.ts'),
      ]);
    const setup = parseSearchSetup(readFile(args.positionals[0] ?? ''));
    const base = loadBuiltinContracts().find(({ name }) => name === 'web.search');
    if (base === undefined) throw new Error('no contract of web.search comes with the fabric');
    const made = searchContract(base, setup);
    const { problems, warnings } = reviewContracts([made]);
    for (const warning of warnings) output.note(`warning: ${warning}`);
    for (const problem of problems) output.note(`cannot be published: ${problem}`);
    output.show({ contract: made, warnings, problems }, writeYaml(made));
    return problems.length === 0 ? EXIT.ok : EXIT.toolError;
  },
};

export const SEARCH_VERBS: readonly Verb[] = [contract];
