import { FabricError } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { readContent } from '../content/read-content.ts';
import type { Driver } from '../driver.ts';
import { fetchAddress } from '../fetch/fetch-address.ts';
import { FetchArgs } from './fetch-args.ts';
import { fetchOutcome, type Reading } from './fetch-outcome.ts';
import { parseAddress } from './parse-address.ts';
import { storeBody, storeText } from './store-copies.ts';

const read = async (driver: Driver, ctx: ToolContext, args: FetchArgs): Promise<Reading> => {
  const { egress, signal, actor } = ctx;
  if (egress === undefined) throw new FabricError('egress_refused', 'permit_unknown: this call has no leave to go out');
  const { method, format } = args;
  const request = { tenant: actor.tenant, egress, method, url: parseAddress(args.url), signal };
  const fetched = await fetchAddress(driver, request);
  const source = { body: fetched.body, contentType: fetched.headers['content-type'], address: fetched.address };
  const content = await readContent(driver.reader, source, format, signal);
  // Before it is cut: of half a secret nobody would know that it is one.
  return { fetched, content, text: ctx.redactor.text(content.text) };
};

/** WB-2: one address by a safe method; the outside's words stand in `untrusted` and nowhere else. */
export const urlFetchTool = (driver: Driver) =>
  defineTool({
    handler: 'url.fetch',
    effect: 'none',
    args: FetchArgs,
    async handle(ctx, args) {
      const reading = await read(driver, ctx, args);
      const { fetched, content, text } = reading;
      const hasBody = fetched.body.length > 0;
      const body = hasBody ? storeBody(ctx, content, fetched.body) : undefined;
      const outcome = fetchOutcome(ctx, args, reading);
      const isPart = outcome.window.from > 0 || outcome.window.next !== undefined;
      const whole = isPart ? storeText(ctx, text, args.format === 'markdown') : undefined;
      return outcome.with({ body: await body, text: await whole });
    },
  });
