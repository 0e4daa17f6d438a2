import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openPeer } from '../../../apps/egress/src/testing/open-peer.ts';
import { openWebRig } from '../../web/through-egress.ts';
import { spreadOf } from '../call-path/statistics.ts';

export interface FetchRow {
  readonly name: string;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
}

const HOST = 'bench.example.com';
const PAGE = fileURLToPath(new URL('../../web-corpus/pages/news-article.html', import.meta.url));

const timed = async (rounds: number, work: () => Promise<unknown>): Promise<{ p50: number; p95: number }> => {
  const times: number[] = [];
  for (let round = -3; round < rounds; round += 1) {
    const began = performance.now();
    await work();
    if (round >= 0) times.push(performance.now() - began);
  }
  const { p50, p95 } = spreadOf(times);
  return { p50, p95 };
};

/** One page of the corpus from a site on this machine: by itself, through the way out, and as the tool gives it. */
export const measureFetch = async (rounds: number): Promise<FetchRow[]> => {
  const html = readFileSync(PAGE);
  const rig = await openWebRig();
  const site = await openPeer(undefined, (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
  );
  const url = `http://${HOST}:${site.port}/`;
  const rules = rig.rules(site.port, HOST);
  const through = async () => {
    const session = rig.session(rules);
    const asked = { method: 'GET', url: new URL(url), headers: {}, signal: AbortSignal.timeout(10_000) };
    const { body } = await session.request(asked);
    for await (const part of body) void part;
    await session.close();
  };
  try {
    return [
      {
        name: 'fetch of Node, no way out',
        ...(await timed(rounds, async () => (await fetch(`http://127.0.0.1:${site.port}/`)).arrayBuffer())),
      },
      { name: 'one request through the egress, with its permit', ...(await timed(rounds, through)) },
      { name: 'url.fetch, bytes to Markdown', ...(await timed(rounds, () => rig.fetch(url, rules))) },
      {
        name: 'url.fetch, source as it is',
        ...(await timed(rounds, () => rig.fetch(url, rules, { args: { format: 'source' } }))),
      },
    ];
  } finally {
    await rig.stop();
    await site.stop();
  }
};
