import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';

const NAME = 'left-hand';
const VERSION = '1.2.3';
const PYTHON_WHEEL = 'lefthand-1.2.3-py3-none-any.whl';

/** Writes a wheel: Python packages are zip files, and Python makes them. */
const WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('lefthand.py', 'SIDE = "left"\\n')
    info = 'lefthand-1.2.3.dist-info/'
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: lefthand\\nVersion: 1.2.3\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;

const tarball = (folder: string): Buffer => {
  const root = join(folder, 'package');
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'package.json'), JSON.stringify({ name: NAME, version: VERSION, main: 'index.js' }));
  writeFileSync(join(root, 'index.js'), "module.exports = 'left';\n");
  execFileSync('tar', ['-czf', join(folder, 'package.tgz'), '-C', folder, 'package']);
  return readFileSync(join(folder, 'package.tgz'));
};

/** Whether this machine has a Python with pip, where a command sees it. */
export const hasPip = (): boolean => spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']).status === 0;

const wheel = (folder: string): Buffer => {
  const file = join(folder, PYTHON_WHEEL);
  execFileSync('/usr/bin/python3', ['-c', WHEEL, file]);
  return readFileSync(file);
};

/** A registry as npm and pip ask it, with one package each; what it does not know it answers with 404. */
export const packageRegistry = (folder: string): RequestListener => {
  mkdirSync(folder, { recursive: true });
  const [packed, built] = [tarball(folder), hasPip() ? wheel(folder) : Buffer.alloc(0)];
  const integrity = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
  const json = (response: ServerResponse, value: unknown) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  const document = ({ headers, socket }: IncomingMessage) => {
    const base = `${'encrypted' in socket ? 'https' : 'http'}://${headers.host}`;
    const dist = { tarball: `${base}/files/${NAME}.tgz`, integrity };
    const one = { name: NAME, version: VERSION, main: 'index.js', dist };
    return { name: NAME, 'dist-tags': { latest: VERSION }, versions: { [VERSION]: one } };
  };
  const links = `<!doctype html><a href="/files/${PYTHON_WHEEL}">${PYTHON_WHEEL}</a>`;
  return (request, response) => {
    if (request.url === `/${NAME}`) return json(response, document(request));
    if (request.url === `/files/${NAME}.tgz`) return response.end(packed);
    if (request.url === '/simple/lefthand/') return response.setHeader('content-type', 'text/html').end(links);
    if (request.url === `/files/${PYTHON_WHEEL}`) return response.end(built);
    response.writeHead(404).end('{}');
  };
};
