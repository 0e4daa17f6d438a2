import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

/** A receiver of notices as a process of its own: `node webhook-sink.ts <port> <file> <status>`. One line a request. */
const [port = '0', file = '', status = '204'] = process.argv.slice(2);

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { url, headers } = request;
    const signature = String(headers['toolfabric-signature'] ?? '');
    appendFileSync(file, `${JSON.stringify({ url, signature, body: Buffer.concat(chunks).toString('utf8') })}\n`);
    response.writeHead(Number(status), { location: `http://127.0.0.1:${port}/elsewhere` }).end();
  });
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\n'));
