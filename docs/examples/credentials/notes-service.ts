// A service that knows its one caller by a token. For trying credentials on one machine; see docs/credentials.md.
import { createServer } from 'node:http';

createServer((request, response) => {
  const isAda = request.headers.authorization === 'Bearer token-of-ada';
  const body = isAda ? [{ id: 1, text: 'milk' }] : { error: 'who are you?' };
  response.writeHead(isAda ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}).listen(4999, '127.0.0.1');
