import type { IncomingHttpHeaders } from 'node:http';
import { Refused } from '../refuse.ts';

const BASIC = /^basic ([A-Za-z0-9+/]{1,400}={0,2})$/i;
const BEARER = /^bearer ([A-Za-z0-9_-]{43})$/i;
const TOKEN = /^[^:]*:([A-Za-z0-9_-]{43})$/;

/** The token in `proxy-authorization`, as the password of any user. Throws `permit_unknown`. */
export const proxyToken = (headers: IncomingHttpHeaders): string => {
  const encoded = BASIC.exec(headers['proxy-authorization'] ?? '')?.[1];
  const token = TOKEN.exec(Buffer.from(encoded ?? '', 'base64').toString('latin1'))?.[1];
  if (token === undefined) throw new Refused('permit_unknown');
  return token;
};

/** The token of a request to the egress itself: `authorization: Bearer`. Throws `permit_unknown`. */
export const bearerToken = (headers: IncomingHttpHeaders): string => {
  const token = BEARER.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) throw new Refused('permit_unknown');
  return token;
};
