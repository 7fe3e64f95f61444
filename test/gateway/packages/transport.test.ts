/** The transport's own contract, with a model that does exactly what the test says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { PLAIN_NETWORK, type Provider } from '../../../src/core/provider.ts';
import { PackageTransport } from '../../../src/provider/ai-sdk/transport.ts';
import type { TransportFailure, UpstreamHandle, UpstreamPackageCall } from '../../../src/provider/upstream.ts';

const TIMEOUTS = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 5_000 };
const USAGE = {
  inputTokens: { total: 10, noCache: 3, cacheRead: 5, cacheWrite: 2 },
  outputTokens: { total: 9, text: 5, reasoning: 4 },
};

interface Model {
  doStream(options: LanguageModelV4CallOptions): Promise<{ stream: ReadableStream<LanguageModelV4StreamPart> }>;
}

/** A provider whose package makes this model. */
function callTo(model: object, body: object = {}): UpstreamPackageCall & { readonly settings: unknown[] } {
  const settings: unknown[] = [];
  const create = (given: unknown): unknown => {
    settings.push(given);
    return { languageModel: () => ({ specificationVersion: 'v4', provider: 'fake', supportedUrls: {}, ...model }) };
  };
  const provider: Provider = {
    name: 'p',
    kind: 'ai-sdk',
    baseUrl: 'http://127.0.0.1:1/base',
    apiKeys: ['k'],
    formats: ['responses'],
    timeouts: TIMEOUTS,
    network: PLAIN_NETWORK,
    headers: { 'x-team': 'a' },
    chatLimitField: 'max_tokens',
    countsTokens: false,
    storesResponses: false,
    forwardsTraceparent: false,
    circuitBreaker: true,
    options: { region: 'here' },
    package: { name: 'fake', create, callOptions: { fake: { deep: true } } },
  };
  const request = { model: 'm', input: 'Hello', stream: true, max_output_tokens: 50, ...body };
  const bytes = Buffer.from(JSON.stringify(request));
  return { via: 'package', provider, upstreamModel: 'm', apiKey: 'k', body: bytes, timeouts: TIMEOUTS, settings };
}

interface Heard {
  status: number;
  text: string;
  readonly end: Promise<TransportFailure | null>;
  readonly handle: UpstreamHandle;
}

function send(call: UpstreamPackageCall, onData: (heard: Heard, data: string) => void = () => {}): Heard {
  const end = Promise.withResolvers<TransportFailure | null>();
  const heard: Heard = {
    status: 0,
    text: '',
    end: end.promise,
    handle: new PackageTransport().send(call, {
      onHeaders: (status) => {
        heard.status = status;
      },
      onData: (chunk) => {
        heard.text += chunk.toString();
        onData(heard, chunk.toString());
      },
      onEnd: () => end.resolve(null),
      onFailure: end.resolve,
    }),
  };
  return heard;
}

function streamOf(parts: readonly LanguageModelV4StreamPart[]): Model {
  return { doStream: async () => ({ stream: ReadableStream.from(parts) }) };
}

function finish(reason: 'stop' | 'tool-calls' = 'stop'): LanguageModelV4StreamPart {
  return { type: 'finish', usage: USAGE, finishReason: { unified: reason, raw: undefined } };
}

async function whole(parts: readonly LanguageModelV4StreamPart[], body: object = {}): Promise<Record<string, unknown>> {
  const heard = send(callTo(streamOf(parts), { stream: false, ...body }));
  assert.equal(await heard.end, null);
  return JSON.parse(heard.text) as Record<string, unknown>;
}

describe('a call', () => {
  test('settings, options of the call and the request reach the package', async () => {
    const given: LanguageModelV4CallOptions[] = [];
    const model: Model = {
      doStream: async (options) => {
        given.push(options);
        return { stream: ReadableStream.from([finish()]) };
      },
    };
    const call = callTo(model, { reasoning: { effort: 'high' }, text: { format: { type: 'json_object' } } });
    await send(call).end;
    const [{ fetch, ...settings }] = call.settings as [Record<string, unknown>];
    assert.equal(typeof fetch, 'function');
    assert.deepEqual(settings, {
      region: 'here',
      baseURL: 'http://127.0.0.1:1/base',
      apiKey: 'k',
      headers: { 'x-team': 'a' },
    });
    const [{ abortSignal, ...options }] = given as [LanguageModelV4CallOptions];
    assert.ok(abortSignal);
    assert.deepEqual(options, {
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      maxOutputTokens: 50,
      responseFormat: { type: 'json' },
      reasoning: 'high',
      providerOptions: { fake: { deep: true }, openai: { store: false }, azure: { store: false } },
    });
  });

  test('classes of usage do not overlap', async () => {
    const { usage } = await whole([finish()]);
    assert.deepEqual(usage, {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 19,
    });
  });

  test('half a report of usage is none', async () => {
    const half = { ...USAGE, outputTokens: { total: undefined, text: undefined, reasoning: undefined } };
    const end: LanguageModelV4StreamPart = {
      type: 'finish',
      usage: half,
      finishReason: { unified: 'stop', raw: undefined },
    };
    assert.equal((await whole([end])).usage, null);
  });

  test('custom tools are functions to a package and custom tools again to the client', async () => {
    const input = '{"input":"ls -l"}';
    const { output } = await whole(
      [
        { type: 'tool-input-start', id: 'c', toolName: 'shell' },
        { type: 'tool-input-delta', id: 'c', delta: input.slice(0, 5) },
        { type: 'tool-input-delta', id: 'c', delta: input.slice(5) },
        { type: 'tool-input-end', id: 'c' },
        { type: 'tool-call', toolCallId: 'c', toolName: 'shell', input },
        finish('tool-calls'),
      ],
      { tools: [{ type: 'custom', name: 'shell' }] },
    );
    const [call] = output as [Record<string, unknown>];
    assert.deepEqual([call.type, call.name, call.call_id, call.input], ['custom_tool_call', 'shell', 'c', 'ls -l']);
  });

  test('blocks that a package leaves open or mixes, sources and images come out in order', async () => {
    const { output } = await whole([
      { type: 'source', sourceType: 'url', id: 's', url: 'https://a.invalid/', title: 'A' },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'One' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: '{}' },
      { type: 'text-delta', id: '0', delta: 'Two' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
      finish(),
    ]);
    const items = (output as Record<string, unknown>[]).map((item) => [
      item.type,
      item.summary ?? item.content ?? item.arguments ?? item.result,
    ]);
    const citation = { type: 'url_citation', url: 'https://a.invalid/', title: 'A', start_index: 0, end_index: 0 };
    const text = (said: string, annotations: object[] = []): object => ({
      type: 'output_text',
      text: said,
      annotations,
      logprobs: [],
    });
    assert.deepEqual(items, [
      ['reasoning', [{ type: 'summary_text', text: 'Hm.' }]],
      ['message', [text('One', [citation])]],
      ['function_call', '{}'],
      ['message', [text('Two')]],
      ['image_generation_call', 'AQID'],
    ]);
  });

  test('a package of another interface version is told by name, and the provider is not asked', async () => {
    const failure = await send(callTo({ specificationVersion: 'v2' })).end;
    assert.equal(failure?.kind, 'unreachable');
    assert.match(failure?.message ?? '', /the package fake does not offer the interface v3 or v4/);
  });

  test('a package of the version before holds files in its own way', async () => {
    const prompts: unknown[] = [];
    const model = {
      specificationVersion: 'v3',
      doStream: async ({ prompt, ...options }: LanguageModelV4CallOptions) => {
        prompts.push(prompt);
        assert.ok(!('reasoning' in options));
        const image = { type: 'file', mediaType: 'image/png', data: 'AQID' };
        return { stream: ReadableStream.from([image, finish()]) };
      },
    };
    const file = { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,QQ==' };
    const picture = { type: 'input_image', image_url: 'data:image/png;base64,AQID' };
    const heard = send(
      callTo(model, {
        stream: false,
        reasoning: { effort: 'low' },
        input: [
          { role: 'user', content: [picture, file] },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c', output: [picture] },
        ],
      }),
    );
    assert.equal(await heard.end, null);
    assert.match(heard.text, /"type":"image_generation_call","id":"ig_0","status":"completed","result":"AQID"/);
    const [[user, , tool]] = prompts as [[Record<string, unknown>, unknown, Record<string, unknown>]];
    assert.deepEqual(user.content, [
      { type: 'file', mediaType: 'image/png', data: 'AQID' },
      { type: 'file', mediaType: 'text/plain', data: 'QQ==', filename: 'a.txt' },
    ]);
    const value = [{ type: 'image-data', mediaType: 'image/png', data: 'AQID' }];
    assert.deepEqual(tool.content, [
      { type: 'tool-result', toolCallId: 'c', toolName: 'f', output: { type: 'content', value } },
    ]);
  });

  test('what a request cannot have is a 400', async () => {
    const heard = send(callTo(streamOf([]), { tools: [{ type: 'local_shell' }] }));
    assert.equal(await heard.end, null);
    assert.equal(heard.status, 400);
    assert.match(heard.text, /local_shell/);
  });
});

describe('the flow', () => {
  /** A stream that says the next word whenever it is asked, and counts how often. */
  function endless(): { model: Model; readonly cancelled: Promise<void>; pulls(): number } {
    let pulls = 0;
    const cancelled = Promise.withResolvers<void>();
    const stream = new ReadableStream<LanguageModelV4StreamPart>(
      {
        pull: (controller) => {
          pulls += 1;
          controller.enqueue({ type: 'text-delta', id: '0', delta: `word ${pulls} ` });
        },
        cancel: () => cancelled.resolve(),
      },
      { highWaterMark: 0 },
    );
    return { model: { doStream: async () => ({ stream }) }, cancelled: cancelled.promise, pulls: () => pulls };
  }

  test('[F14] a pause reaches the package: no more is asked for until the client has read', async () => {
    const source = endless();
    const paused = Promise.withResolvers<void>();
    const resumed = Promise.withResolvers<void>();
    const heard = send(callTo(source.model), ({ handle }, data) => {
      if (/word 3 /.test(data)) {
        handle.pause();
        paused.resolve();
      }
      if (/word 4 /.test(data)) resumed.resolve();
    });
    await paused.promise;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(source.pulls(), 3);
    heard.handle.resume();
    await resumed.promise;
    heard.handle.abort();
    await source.cancelled;
  });

  test('an abort ends a paused call, and a call whose package does not heed the signal; nothing is told after it', async () => {
    for (const pause of [true, false]) {
      const source = endless();
      const begun = Promise.withResolvers<void>();
      const heard = send(callTo(source.model), ({ handle }) => {
        if (pause) handle.pause();
        begun.resolve();
      });
      await begun.promise;
      heard.handle.abort();
      const { text } = heard;
      await source.cancelled;
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(heard.text, text);
    }
  });

  test('an abort before the package has answered aborts its request', async () => {
    const aborted = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const model: Model = {
      doStream: ({ abortSignal }) =>
        new Promise((_resolve, reject) => {
          abortSignal?.addEventListener('abort', () => {
            aborted.resolve();
            reject(abortSignal.reason);
          });
          asked.resolve();
        }),
    };
    const heard = send(callTo(model));
    await asked.promise;
    heard.handle.abort();
    await aborted.promise;
    assert.deepEqual([heard.status, heard.text], [0, '']);
  });
});
