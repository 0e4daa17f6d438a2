import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Site {
  readonly port: number;
  /** Under a name that nobody resolves: whoever asks goes by `directSession`. */
  address(path: string, host?: string): string;
  /** What was asked: method, path and headers. */
  readonly asked: { method: string; path: string; headers: Record<string, unknown> }[];
  /** What it answers from now on. */
  answer: RequestListener;
  stop(): Promise<void>;
}

/** A real site on this machine; `robots.txt` is not there unless it answers that too. */
export const openSite = async (): Promise<Site> => {
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    if (path === '/robots.txt') return void response.writeHead(404).end();
    site.asked.push({ method, path, headers });
    site.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const site: Site = {
    port,
    address: (path, host = 'site.example') => `http://${host}:${port}${path}`,
    asked: [],
    answer: (_request, response) => response.end('hello'),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return site;
};
