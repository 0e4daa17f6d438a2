import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { EGRESS_REFUSAL_HEADER, EGRESS_REFUSALS, type EgressRefusal } from '@toolfabric/contract';

const CHALLENGE = 'Basic realm="toolfabric egress"';

const refusalOf = (reason: EgressRefusal) => {
  const { status, meaning } = EGRESS_REFUSALS[reason];
  const body = JSON.stringify({ reason, message: meaning });
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    [EGRESS_REFUSAL_HEADER]: reason,
    connection: 'close',
    ...(status === 407 ? { 'proxy-authenticate': CHALLENGE } : {}),
  };
  return { status, headers, body };
};

/** Answers with the reason in status, header and JSON body, and closes; what has already begun to answer is cut off. */
export const sendRefusal = (res: ServerResponse, reason: EgressRefusal): void => {
  if (res.destroyed || res.writableEnded) return;
  if (res.headersSent) return void res.destroy();
  const { status, headers, body } = refusalOf(reason);
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  res.writeHead(status, headers).end(body);
};

/** The same where no parser answers: to a CONNECT. */
export const writeRefusal = (socket: Socket, reason: EgressRefusal): void => {
  if (socket.destroyed || socket.writableEnded) return void socket.destroy();
  const { status, headers, body } = refusalOf(reason);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
};
