import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { packagesOfImage } from './image-packages.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The Dockerfile installs what an app's own package asks for, without development tools and without scripts. */
describe('the image', () => {
  it.each([
    ['router', ['@cedar-policy/cedar-wasm', 'unbash', '@toolfabric/policy-cedar', '@toolfabric/shell-analysis']],
    ['worker-cli', ['unbash', '@toolfabric/shell-analysis']],
    ['worker-web', ['@mozilla/readability', 'defuddle', 'linkedom', 'turndown', 'unpdf', '@toolfabric/egress-http']],
    ['egress', ['node-forge', 'oauth4webapi', 'ipaddr.js']],
    ['gateway', ['jose', '@grpc/grpc-js']],
    ['toolfabric', ['@cedar-policy/cedar-wasm', 'unbash', 'jose']],
  ])('of the %s has %j', (app, needed) => {
    const { names } = packagesOfImage(ROOT, app);
    expect(needed.filter((name) => !names.has(name))).toEqual([]);
    expect(names.has('vitest')).toBe(false);
  });

  it('of the gateway and of the worker has no engine of policies', () => {
    for (const app of ['gateway', 'worker-cli'])
      expect(packagesOfImage(ROOT, app).names.has('@cedar-policy/cedar-wasm')).toBe(false);
  });

  it.each(['router', 'worker-cli', 'worker-web', 'egress', 'gateway', 'artifacts', 'trace-writer', 'toolfabric'])(
    'of the %s has no package that only a script could install',
    (app) => {
      // Protobufjs prints an advice about versions, and works without it.
      expect(packagesOfImage(ROOT, app).scripted.filter((name) => name !== 'protobufjs')).toEqual([]);
    },
  );
});
