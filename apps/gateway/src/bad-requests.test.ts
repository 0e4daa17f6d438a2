import { connect } from 'node:http2';
import { credentials, Metadata, makeGenericClientConstructor, type ServiceError, status } from '@grpc/grpc-js';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { uuidv7 } from '@toolfabric/kernel';
import { callViewFromWire, decodeErrorMetadata, ERROR_METADATA_KEY } from '@toolfabric/proto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type OpenGateway, openGateway } from './testing/open-gateway.ts';
import { metadataOf, type RawCall, rawTools } from './testing/raw-tools.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';

const TASK = 't-00000000000000000000000000';
const router = new ScriptedRouter();
let open: OpenGateway<FabricClient>;
let raw: ReturnType<typeof rawTools>;
beforeAll(async () => {
  open = await openGateway(connectFabric, router.ports());
  raw = rawTools(open.gateway.address, open.alice);
});
afterAll(async () => {
  raw.close();
  await open.close();
});
beforeEach(() => {
  router.asked.length = 0;
  router.events.length = 0;
});

const call = (changes: RawCall) => raw.call({ taskId: TASK, tool: 'workspace.read_file', waitMs: 0, ...changes });
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
const text = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - 11) });

describe('what a program must repair fails the request', () => {
  it.each<[string, RawCall, string]>([
    ['no request key', { requestKey: '' }, 'request_key_out_of_range'],
    ['a key of another version', { requestKey: crypto.randomUUID() }, 'request_key_out_of_range'],
    ['a key in upper case', { requestKey: uuidv7().toUpperCase() }, 'request_key_out_of_range'],
    ['a key from long ago', { requestKey: uuidv7(Date.now() - 60 * 86_400_000) }, 'request_key_out_of_range'],
    ['a key from the future', { requestKey: uuidv7(Date.now() + 120_000) }, 'request_key_out_of_range'],
    ['a key with more behind it', { requestKey: `${uuidv7()}.*` }, 'request_key_out_of_range'],
    ['no task', { taskId: '' }, 'invalid_request'],
    ['a task that is a wildcard', { taskId: 't-*' }, 'invalid_request'],
    ['an operation key that is too long', { operationKey: 'x'.repeat(201) }, 'invalid_request'],
    ['an empty operation key', { operationKey: '' }, 'invalid_request'],
    ['a model call id that is too long', { modelCallId: 'x'.repeat(201) }, 'invalid_request'],
    ['a deadline of nothing', { deadlineMs: 0 }, 'invalid_request'],
    ['a deadline past a day', { deadlineMs: 86_400_001 }, 'invalid_request'],
    ['a limit below its bound', { limits: { timeoutMs: 5 } }, 'invalid_request'],
    ['a limit beyond its bound', { limits: { outputBytes: 49_153 } }, 'invalid_request'],
    ['a limit of nothing', { limits: { outputTokens: 0 } }, 'invalid_request'],
    ['a priority that is not known', { priority: 9 }, 'invalid_request'],
  ])('%s', async (_what, changes, type) => {
    const failed = await raw.fails(() => call(changes));
    expect(failed).toMatchObject({
      code: status.INVALID_ARGUMENT,
      error: { type, layer: 'protocol', retryable: false },
    });
    expect(router.asked).toEqual([]);
  });

  it('no proposal at all', async () => {
    const send = () =>
      new Promise((resolve, reject) => {
        raw.client.call({ proposal: undefined, waitMs: 0 }, raw.metadata, (e, r) => (e ? reject(e) : resolve(r)));
      });
    expect(await raw.fails(send)).toMatchObject({ error: { type: 'request_key_out_of_range' } });
  });

  it.each(['', 'x', '2969-*', '2969-00000000000000000000000000.>', '../../etc', 'é'.repeat(40)])(
    'a call id such as %j',
    async (callId) => {
      const client = open.connect(open.alice);
      const refused = { type: 'invalid_request' };
      await expect(client.getCall(callId)).rejects.toMatchObject(refused);
      await expect(client.cancelCall(callId)).rejects.toMatchObject(refused);
      await expect(client.watchCall(callId).next()).rejects.toMatchObject(refused);
      expect(router.asked).toEqual([]);
    },
  );
});

describe('what a model can repair comes back as a refused call', () => {
  it.each<[string, RawCall, string]>([
    ['a tool without a dot', { tool: 'read' }, 'unknown_tool'],
    ['no tool', { tool: '' }, 'unknown_tool'],
    ['a tool with a wildcard', { tool: 'workspace.*' }, 'unknown_tool'],
    ['a tool with a line break', { tool: 'workspace.read\nfile' }, 'unknown_tool'],
    ['a very long tool', { tool: 'a.b'.repeat(1_000) }, 'unknown_tool'],
    ['a version that is none', { tool: 'workspace.read_file@latest' }, 'unknown_version'],
    ['an empty version', { tool: 'workspace.read_file@' }, 'unknown_version'],
    ['arguments that are not JSON', { argumentsJson: '{"path": ' }, 'invalid_arguments'],
    ['arguments with a comment', { argumentsJson: '{} // all' }, 'invalid_arguments'],
    ['arguments followed by more', { argumentsJson: '{},"tool":"a.b"' }, 'invalid_arguments'],
    ['arguments one level too deep', { argumentsJson: nested(33) }, 'too_deep'],
    ['arguments nested without end', { argumentsJson: nested(60_000) }, 'too_deep'],
    ['arguments one byte too large', { argumentsJson: text(32 * 1024 + 1) }, 'too_large'],
    ['arguments that grow when written plainly', { argumentsJson: `{"n":[${'1e20,'.repeat(2_000)}1]}` }, 'too_large'],
  ])('RT-4: %s', async (_what, changes, type) => {
    const { call: view } = await call(changes);
    const refused = view && callViewFromWire(view);
    expect(refused).toMatchObject({
      state: 'refused',
      taskId: TASK,
      result: { status: 'error', sideEffect: 'none', attempt: 0, error: { type, retryable: false } },
    });
    expect(refused?.result?.error?.hint).toBeTruthy();
    expect(router.asked).toEqual([]);
    expect(router.events).toMatchObject([
      { type: 'call.refused', tenant: 'acme', callId: refused?.callId, attributes: { error: type } },
    ]);
  });

  it('keeps what a model wrote out of events', async () => {
    await call({ tool: 'my secret tool', argumentsJson: '{"password": "hunter2' });
    expect(JSON.stringify(router.events)).not.toMatch(/secret|hunter2/);
  });
});

describe('what just fits is handed on', () => {
  it.each<[string, RawCall, unknown]>([
    ['no text at all', { argumentsJson: '' }, {}],
    ['white space around', { argumentsJson: ' \n{ "a" : 1 }\t' }, { a: 1 }],
    ['a key twice', { argumentsJson: '{"a":1,"a":2}' }, { a: 2 }],
    ['a key that programs trip over', { argumentsJson: '{"__proto__":{"x":1},"constructor":2}' }, undefined],
    ['what is no object: the router names it', { argumentsJson: '[1]' }, [1]],
    ['a lone surrogate', { argumentsJson: '{"a":"\\ud800"}' }, { a: '\ud800' }],
    ['the deepest', { argumentsJson: nested(32) }, JSON.parse(nested(32))],
    ['the largest', { argumentsJson: text(32 * 1024) }, JSON.parse(text(32 * 1024))],
  ])('%s', async (_what, changes, args) => {
    const { call: view } = await call(changes);
    expect(view?.state).toBe(3);
    const sent = JSON.parse(router.asked[0]?.body ?? '');
    if (args !== undefined) expect(sent.args).toEqual(args);
    expect(Object.keys(sent)).toEqual(expect.arrayContaining(['actor', 'taskId', 'requestKey', 'tool', 'args']));
    expect(Buffer.byteLength(router.asked[0]?.body ?? '')).toBeLessThan(64 * 1024);
  });

  it('a broken trace context is left out', async () => {
    raw.metadata.set('traceparent', '00-zz-1');
    await call({});
    raw.metadata.remove('traceparent');
    expect(JSON.parse(router.asked[0]?.body ?? '')).not.toHaveProperty('traceparent');
  });
});

describe('messages that are no requests', () => {
  const Raw = makeGenericClientConstructor({}, 'raw');
  /** Sends bytes to a verb. */
  const send = async (verb: string, bytes: Buffer, token: string | undefined = open.alice) => {
    const client = new Raw(open.gateway.address, credentials.createInsecure());
    const same = (value: Buffer) => value;
    try {
      return await new Promise<ServiceError | Buffer | undefined>((resolve) => {
        client.makeUnaryRequest(verb, same, same, bytes, metadataOf(token), {}, (error, value) =>
          resolve(error ?? value),
        );
      });
    } finally {
      client.close();
    }
  };
  const errorOf = (answer: unknown) => {
    const metadata = (answer as ServiceError).metadata ?? new Metadata();
    const carried = metadata.get(ERROR_METADATA_KEY)[0];
    return carried instanceof Uint8Array ? decodeErrorMetadata(carried) : undefined;
  };
  const CALL = '/toolfabric.v1.ToolService/Call';

  it.each([
    ['bytes that are no protobuf', Buffer.from('ffffffffffff', 'hex')],
    ['a cut message', Buffer.from('0aff0141', 'hex')],
    ['a field of another type', Buffer.from('0a0808ffffffffffffff7f', 'hex')],
    ['text that is not UTF-8', Buffer.from('0a040a02c328', 'hex')],
  ])('%s: a typed error, and the gateway lives', async (_what, bytes) => {
    const answer = await send(CALL, bytes);
    expect(['invalid_request', 'request_key_out_of_range']).toContain(errorOf(answer)?.type);
    expect((await call({})).call?.state).toBe(3);
  });

  it('a message that cannot be read tells a stranger nothing more', async () => {
    expect(errorOf(await send(CALL, Buffer.from('ffffffffffff', 'hex'), 'tf_x'))?.type).toBe('unauthenticated');
  });

  it('fields that are not known are passed over', async () => {
    const known = Buffer.concat([
      Buffer.from('0a1a', 'hex'),
      Buffer.from('2969-00000000000000000000000000'.slice(0, 26)),
    ]);
    const answer = await send(
      '/toolfabric.v1.ToolService/GetCall',
      Buffer.concat([known, Buffer.from('ba3e0161', 'hex')]),
    );
    expect(errorOf(answer)?.type).toBe('invalid_request');
    const { requestKey } = { requestKey: uuidv7() };
    const proposal = Buffer.concat([
      field(1, requestKey),
      field(2, TASK),
      field(3, 'a.b'),
      field(4, '{}'),
      field(900, 'new'),
    ]);
    const accepted = await send(
      '/toolfabric.v1.ToolService/StartCall',
      Buffer.concat([field(1, proposal), field(77, 'x')]),
    );
    expect(accepted).toBeInstanceOf(Buffer);
  });

  it('a verb that does not exist', async () => {
    expect(await send('/toolfabric.v1.ToolService/Shutdown', Buffer.alloc(0))).toMatchObject({
      code: status.UNIMPLEMENTED,
    });
  });

  it('too_large: a message over the limit of the server is refused and typed by the client', async () => {
    const client = open.connect(open.alice);
    const args = { text: 'x'.repeat(300 * 1024) };
    await expect(client.startCall({ taskId: TASK, tool: 'a.b', args })).rejects.toMatchObject({ type: 'too_large' });
    expect(router.asked).toEqual([]);
    await expect(client.startCall({ taskId: TASK, tool: 'a.b', args: {} })).resolves.toMatchObject({ state: 'queued' });
  });

  it('a compressed message that becomes too large is refused as well', async () => {
    const client = new Raw(open.gateway.address, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': 2,
    });
    const same = (value: Buffer) => value;
    const bomb = field(1, field(4, JSON.stringify('x'.repeat(8 * 1024 * 1024))));
    const answer = await new Promise((resolve) => {
      client.makeUnaryRequest(CALL, same, same, bomb, metadataOf(open.alice), {}, (error, value) =>
        resolve(error ?? value),
      );
    });
    client.close();
    expect(answer).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    expect(router.asked).toEqual([]);
  });

  it('plain HTTP/2 that is no gRPC gets an answer and reaches nothing', async () => {
    const session = connect(`http://${open.gateway.address}`);
    const request = session.request({ ':path': CALL, ':method': 'POST', 'content-type': 'application/json' });
    const code = await new Promise((resolve) => {
      request.on('response', (headers) => resolve(headers[':status']));
      request.end('{}');
    });
    session.close();
    expect(code).toBe(415);
    expect(router.asked).toEqual([]);
  });
});

/** A length-delimited protobuf field. */
const field = (number: number, value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
};
const varint = (value: number): Buffer => {
  const out: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...out, rest]);
    out.push((rest & 127) | 128);
  }
};
