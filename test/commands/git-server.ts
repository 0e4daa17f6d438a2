import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';

/** Git itself, as somebody who is nobody here. */
export const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' },
  })
    .toString()
    .trim();

/** A bare repository with one commit, below `folder`; it takes pushes. */
export const bareRepository = (folder: string, name: string) => {
  const work = join(folder, `${name}-work`);
  mkdirSync(work, { recursive: true });
  git(work, 'init', '-q', '-b', 'main');
  writeFileSync(join(work, 'README.md'), 'hello\n');
  git(work, 'add', '.');
  git(work, 'commit', '-q', '-m', 'first');
  git(folder, 'clone', '-q', '--bare', work, `${name}.git`);
  const bare = join(folder, `${name}.git`);
  git(bare, 'config', 'http.receivepack', 'true');
  return { bare, ref: (branch: string) => git(bare, 'rev-parse', `refs/heads/${branch}`) };
};

const headOf = (text: string): { status: number; headers: Record<string, string> } => {
  const lines = text.split('\r\n').map((line) => line.split(': ', 2));
  const headers = Object.fromEntries(lines.filter((pair) => pair.length === 2)) as Record<string, string>;
  const { Status: said = '200', ...rest } = headers;
  return { status: Number(said.slice(0, 3)), headers: rest };
};

/** The repositories below `folder` over smart HTTP, by git's own server program. */
export const gitServer =
  (folder: string): RequestListener =>
  (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://here');
    const { headers } = request;
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        REQUEST_METHOD: request.method,
        PATH_INFO: pathname,
        QUERY_STRING: searchParams.toString(),
        CONTENT_TYPE: headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        HTTP_GIT_PROTOCOL: (headers['git-protocol'] as string | undefined) ?? '',
        REMOTE_USER: 'tester',
        REMOTE_ADDR: '127.0.0.1',
      },
    });
    request.pipe(child.stdin);
    child.stdin.on('error', () => {});
    let text = Buffer.alloc(0);
    child.stdout.on('data', (chunk: Buffer) => {
      if (response.headersSent) return response.write(chunk);
      text = Buffer.concat([text, chunk]);
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const { status, headers: own } = headOf(text.subarray(0, end).toString('latin1'));
      response.writeHead(status, own);
      response.write(text.subarray(end + 4));
    });
    child.stdout.on('end', () => response.end());
  };
