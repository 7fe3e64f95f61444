/** Directives, faults and cancellation, on the wire and alike in all formats. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import OpenAI from 'openai';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { countTokens } from '../../../src/sandbox/tokens.ts';
import { anyCharacter } from '../../support/fuzz.ts';
import { content, dataOf, useSandbox } from './clients.ts';

const started = useSandbox();

interface FormatCase {
  readonly path: string;
  request(text: string): Record<string, unknown>;
  text(answer: Answered): string;
  outputTokens(answer: Answered): number | undefined;
  readonly delta: string;
  readonly end: string;
}

interface Answered {
  choices: { message: { content: string } }[];
  output: { content: { text: string }[] }[];
  content: { text: string }[];
  usage: Record<string, number> | null | undefined;
  error: { type: string; message: string };
  type: string;
}

const FORMATS: Readonly<Record<string, FormatCase>> = {
  chat: {
    path: '/v1/chat/completions',
    request: (text) => ({ model: 'm', messages: [{ role: 'user', content: text }] }),
    text: (answer) => answer.choices[0]?.message.content ?? '',
    outputTokens: (answer) => answer.usage?.completion_tokens,
    delta: '"delta":{"content":',
    end: '[DONE]',
  },
  responses: {
    path: '/v1/responses',
    request: (text) => ({ model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text }] }] }),
    text: (answer) => answer.output[0]?.content[0]?.text ?? '',
    outputTokens: (answer) => answer.usage?.output_tokens,
    delta: '"type":"response.output_text.delta"',
    end: 'response.completed',
  },
  messages: {
    path: '/v1/messages',
    request: (text) => ({ model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text }] }] }),
    text: (answer) => answer.content[0]?.text ?? '',
    outputTokens: (answer) => answer.usage?.output_tokens,
    delta: '"type":"text_delta"',
    end: 'message_stop',
  },
};

async function readUntilBroken(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  await assert.rejects(async () => {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
  });
  return text;
}

for (const [name, format] of Object.entries(FORMATS)) {
  const whole = async (text: string, extra: object = {}) => {
    const response = await started.post(format.path, { ...format.request(text), ...extra });
    return (await response.json()) as Answered;
  };
  const streamed = (text: string, signal?: AbortSignal) =>
    started.post(format.path, { ...format.request(text), stream: true }, signal);

  describe(`sandbox directives, ${name}`, () => {
    test('[[tokens=N]] gives exactly N tokens, whole and streamed', async () => {
      for (const count of [0, 1, 2, 19, 500]) {
        const answer = await whole(`Hi [[tokens=${count}]]`);
        assert.equal(format.outputTokens(answer), count);
        assert.equal(countTokens(format.text(answer)), count);
        const stream = await (await streamed(`Hi [[tokens=${count}]]`)).text();
        assert.equal(stream.split(format.delta).length - 1, count);
        assert.ok(stream.includes(format.end));
      }
    });

    test('the same request gets the same answer, ids included', async () => {
      const [first, second] = [await whole('Hello'), await whole('Hello')];
      assert.deepEqual(content(first), content(second));
      assert.equal((first as unknown as { id: string }).id, (second as unknown as { id: string }).id);
    });

    test('[[echo]] is the body as it arrived, byte for byte', async () => {
      const body = ` ${JSON.stringify({ ...format.request('[[echo]] é'), seed: 1, temperature: '@' })}`.replace(
        '"@"',
        '1.0',
      );
      const answer = (await (await started.post(format.path, body)).json()) as Answered;
      assert.equal(format.text(answer), body);
    });

    test('[[headers]] is the JSON of the headers as they arrived', async () => {
      const headers = JSON.parse(format.text(await whole('[[headers]]')));
      assert.equal(headers['content-type'], 'application/json');
    });

    test('[[usage=none]] tells no usage anywhere', async () => {
      assert.equal((await whole('[[usage=none]]')).usage ?? null, null);
      const stream = await (await streamed('[[usage=none]]')).text();
      assert.ok(!stream.replaceAll('"usage":null', '').includes('"usage"'));
    });

    test('[[delay=MS]] sends one token per chunk, and a whole answer ends as well', async () => {
      const stream = await (await streamed('[[delay=1]][[tokens=4]]')).text();
      assert.equal(stream.split(format.delta).length - 1, 4);
      assert.equal(format.outputTokens(await whole('[[delay=0]][[wait=1]][[tokens=4]]')), 4);
    });

    test('[[status=CODE]] answers with that status in the style of the format', async () => {
      for (const status of [400, 401, 429, 500, 503, 529]) {
        const response = await streamed(`[[delay=1]][[status=${status}]]`);
        assert.equal(response.status, status);
        assert.equal(response.headers.get('retry-after'), [429, 503, 529].includes(status) ? '1' : null);
        const body = (await response.json()) as Answered;
        assert.match(body.error.message, new RegExp(String(status)));
        if (name === 'messages') assert.equal(body.type, 'error');
      }
      assert.equal((await streamed('[[status=204]]')).status, 200);
    });

    test('[[fail-after=N]] breaks the stream after N content chunks', async () => {
      for (const count of [1, 7]) {
        const text = await readUntilBroken(await streamed(`[[fail-after=${count}]]`));
        assert.equal(text.split(format.delta).length - 1, count);
        assert.ok(!text.includes(format.end));
      }
      const complete = await (await streamed('[[fail-after=9]][[tokens=8]]')).text();
      assert.ok(complete.includes(format.end));
    });

    test('[[fail-after=N]] breaks a whole answer within its body, and at 0 before the headers', async () => {
      const response = await started.post(format.path, format.request('[[fail-after=3]]'));
      assert.equal(response.status, 200);
      assert.ok((await readUntilBroken(response)).length > 0);
      await assert.rejects(started.post(format.path, format.request('[[fail-after=0]]')));
      await assert.rejects(streamed('[[fail-after=0]]'));
    });

    test('the output limit holds for every directive', async () => {
      const field = name === 'responses' ? 'max_output_tokens' : 'max_tokens';
      for (const text of ['[[tokens=100]]', '[[echo]]', '[[headers]]', 'Hello']) {
        assert.equal(format.outputTokens(await whole(text, { [field]: 5 })), 5);
      }
    });

    test('a bad request is refused with 400 in the style of the format', async () => {
      const bodies = [
        '{',
        '',
        '[]',
        'null',
        '{}',
        '{"model":""}',
        '{"model":"m"}',
        '{"model":"m","messages":[],"input":5}',
      ];
      for (const body of bodies) {
        const response = await started.post(format.path, body);
        assert.equal(response.status, 400, body);
        const { error, type } = (await response.json()) as Answered;
        assert.equal(error.type, 'invalid_request_error');
        assert.equal(type, name === 'messages' ? 'error' : undefined);
      }
    });

    test('a client that leaves stops the stream and is counted as an abort', async () => {
      const { stats } = started.sandbox;
      const before = stats.aborted;
      const abort = new AbortController();
      const response = await streamed('[[tokens=1000]][[delay=600000]]', abort.signal);
      await stats.until(({ live }) => live === 1);
      const reader = response.body?.getReader();
      await reader?.read();
      abort.abort();
      await stats.until(({ live }) => live === 0);
      assert.equal(stats.aborted, before + 1);
    });

    test('a client that leaves before the headers is counted as an abort', async () => {
      const { stats } = started.sandbox;
      const [aborted, begun] = [stats.aborted, stats.begun];
      const abort = new AbortController();
      const pending = started.post(format.path, format.request('[[delay=600000]]'), abort.signal);
      await stats.until((now) => now.begun === begun + 1);
      abort.abort();
      await assert.rejects(pending);
      await stats.until(({ live }) => live === 0);
      assert.equal(stats.aborted, aborted + 1);
    });
  });
}

describe('sandbox server', () => {
  test('an answer that ended, or that a directive broke, is no abort', async () => {
    const sandbox = await startSandbox();
    const body = (text: string) => JSON.stringify(FORMATS.chat?.request(text));
    const post = (text: string) => fetch(`${sandbox.url}/v1/chat/completions`, { method: 'POST', body: body(text) });
    await (await post('Hello')).text();
    await assert.rejects(post('[[fail-after=0]]'));
    await sandbox.stats.until(({ live }) => live === 0);
    assert.equal(sandbox.stats.begun, 2);
    assert.equal(sandbox.stats.aborted, 0);
    await sandbox.close();
  });

  test('closing breaks what still runs', async () => {
    const sandbox = await startSandbox();
    const body = JSON.stringify({ ...FORMATS.chat?.request('[[delay=600000]]'), stream: true });
    const response = await fetch(`${sandbox.url}/v1/chat/completions`, { method: 'POST', body });
    const broken = assert.rejects(response.text());
    await sandbox.close();
    await broken;
    await sandbox.stats.until(({ live }) => live === 0);
    assert.equal(sandbox.stats.aborted, 0);
  });

  test('a slow reader holds the stream back, and leaving ends it', async () => {
    const { stats } = started.sandbox;
    const before = stats.aborted;
    const abort = new AbortController();
    const request = { ...FORMATS.chat?.request('[[tokens=1000000]]'), stream: true };
    const response = await started.post('/v1/chat/completions', request, abort.signal);
    const reader = response.body?.getReader();
    await reader?.read();
    // The sandbox answers others meanwhile, and the unread stream has not run to its end.
    await (await started.post('/v1/chat/completions', FORMATS.chat?.request('Hello'))).text();
    await stats.until(({ live }) => live === 1);
    abort.abort();
    await stats.until(({ live }) => live === 0);
    assert.equal(stats.aborted, before + 1);
  });

  test('input is never said to be more tokens than the body has bytes', async () => {
    const part = fc.oneof(
      fc.string({ unit: anyCharacter }).map((text) => ({ type: 'text', text })),
      fc.constant({ type: 'image', source: {} }),
      fc.jsonValue().map((value) => ({ type: 'tool_result', content: value })),
      fc.jsonValue().map((value) => ({ type: 'other', value })),
    );
    const body = fc.record({
      model: fc.constant('m'),
      messages: fc.array(fc.record({ role: fc.constant('user'), content: fc.array(part) }), { minLength: 1 }),
      tools: fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
    });
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const sent = JSON.stringify(value);
        const response = await started.post('/v1/messages/count_tokens', sent);
        const { input_tokens: tokens } = (await response.json()) as { input_tokens: number };
        assert.ok(Number.isInteger(tokens) && tokens <= Buffer.byteLength(sent));
      }),
      { numRuns: 50 },
    );
  });

  test('a count of tokens can fail like a generation', async () => {
    const request = FORMATS.messages?.request('[[status=503]]');
    assert.equal((await started.post('/v1/messages/count_tokens', request)).status, 503);
    await assert.rejects(started.post('/v1/messages/count_tokens', FORMATS.messages?.request('[[fail-after=0]]')));
  });

  test('unknown paths and wrong methods are refused; a query is ignored', async () => {
    assert.equal((await started.post('/v1/nothing', {})).status, 404);
    assert.equal((await fetch(`${started.sandbox.url}/v1/messages`)).status, 405);
    assert.equal((await fetch(`${started.sandbox.url}/v1/models?limit=1000`)).status, 200);
    assert.equal((await started.post('/v1/messages?beta=true', FORMATS.messages?.request('Hi'))).status, 200);
  });

  test('a body that is nested very deeply is refused, and the sandbox goes on', async () => {
    const nested = '['.repeat(100_000) + ']'.repeat(100_000);
    const deep = `{"model":"m","messages":[{"role":"user","content":${nested}}]}`;
    assert.equal((await started.post('/v1/messages', deep)).status, 400);
    assert.equal((await started.post('/v1/messages', FORMATS.messages?.request('Hi'))).status, 200);
  });

  test('a taken port is told', async () => {
    await assert.rejects(startSandbox({ port: started.sandbox.port }), { code: 'EADDRINUSE' });
  });

  test('errors become the error classes of the official clients', async () => {
    const { openai, anthropic } = started;
    const messages = [{ role: 'user' as const, content: '[[status=429]]' }];
    await assert.rejects(openai.chat.completions.create({ model: 'm', messages }), OpenAI.RateLimitError);
    await assert.rejects(openai.responses.create({ model: 'm', input: '[[status=401]]' }), OpenAI.AuthenticationError);
    await assert.rejects(anthropic.messages.create({ model: 'm', max_tokens: 5, messages }), Anthropic.RateLimitError);
  });
});

test('data lines of every format are JSON', async () => {
  for (const format of Object.values(FORMATS)) {
    const body = { ...format.request('"quotes" \n\u2028 \ud83d\ude00'), stream: true };
    assert.ok(dataOf(await (await started.post(format.path, body)).text()).length > 5);
  }
});
