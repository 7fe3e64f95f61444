/** Whatever is sent: the right status in the right envelope, nothing charged, the process unharmed. */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { fuzz } from '../support/fuzz.ts';
import {
  account,
  answerText,
  auditClean,
  bodyOf,
  type ErrorReply,
  POSTS,
  rawCall,
  readError,
  visit,
} from '../support/requests.ts';
import { call, withGateway } from '../support/started-gateway.ts';

const gateway = await withGateway();
const key = await gateway.creditKey();
const untouched = await account(gateway, key);

afterEach(async () => {
  assert.deepEqual(await account(gateway, key), untouched, 'nothing was charged');
  await auditClean(gateway);
  assert.equal((await call(`${gateway.origin}/healthz`)).status, 200);
});

const fieldOf = (name: EndpointName): string => (ENDPOINTS[name].format === 'responses' ? 'input' : 'messages');

const posts = fc.constantFrom<EndpointName>(...POSTS);

async function send(
  name: EndpointName,
  body: string | Uint8Array,
  headers: readonly (readonly [string, string])[] = [],
): Promise<ErrorReply> {
  const { path, envelope } = ENDPOINTS[name];
  const common = [['authorization', `Bearer ${key.key}`] as const, ['content-type', 'application/json'] as const];
  const reply = await rawCall(key.origin + path, { method: 'POST', headers: [...common, ...headers], body });
  return readError(reply.status, reply.headers, reply.text, envelope);
}

async function refused(name: EndpointName, body: string | Uint8Array): Promise<ErrorReply> {
  const error = await send(name, body);
  assert.deepEqual([error.status, error.code], [400, 'invalid_request'], `${name}: ${error.message}`);
  return error;
}

describe('fuzzed bodies', () => {
  test('any bytes', (t) =>
    fuzz(t, fc.tuple(posts, fc.uint8Array({ maxLength: 300 })), async ([name, bytes]) => {
      await refused(name, bytes);
    }));

  test('any JSON value', (t) =>
    fuzz(t, fc.tuple(posts, fc.json({ maxDepth: 5 })), async ([name, json]) => {
      await refused(name, json);
    }));

  test('any JSON object around the right model', (t) =>
    fuzz(t, fc.tuple(posts, fc.dictionary(fc.string(), fc.jsonValue())), async ([name, fields]) => {
      const { model } = bodyOf(name) as { model: string };
      const error = await refused(name, JSON.stringify({ ...fields, messages: null, input: null, model }));
      assert.notEqual(error.param, null);
    }));

  test('any beginning of a valid body', (t) =>
    fuzz(t, fc.tuple(posts, fc.nat(60)), async ([name, length]) => {
      const body = JSON.stringify(bodyOf(name, 'Hello there, how are you this evening?'));
      await refused(name, body.slice(0, Math.min(length, body.length - 1)));
    }));

  test('any JSON as the messages or the input', (t) =>
    fuzz(t, fc.tuple(posts, fc.array(fc.jsonValue(), { minLength: 1 })), async ([name, items]) => {
      const field = fieldOf(name);
      // An object is a possible input item, and whether a model takes it is the provider's to say.
      fc.pre(field !== 'input' || items.some((item) => typeof item !== 'object' || Array.isArray(item)));
      const error = await refused(name, JSON.stringify(bodyOf(name, '', { [field]: items })));
      assert.ok(error.param?.startsWith(field), `${error.param}: ${error.message}`);
    }));
});

describe('fuzzed fields', () => {
  const text = fc.string();
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const flag = fc.boolean();
  const nothing = fc.constant(null);
  const list = fc.array(fc.jsonValue(), { maxLength: 3 });
  const object = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 });
  const whole = fc.integer({ max: 0 });
  const fraction = fc.integer({ min: 1, max: 100 }).map((n) => n + 0.5);
  const notText = fc.oneof(number, flag, nothing, list, object);
  const notList = fc.oneof(text, number, flag, nothing, object);
  const notObject = fc.oneof(text, number, flag, nothing, list);
  const notFlag = fc.oneof(text, number, nothing, list, object);
  const notCount = fc.oneof(text, flag, nothing, list, object, whole, fraction);
  const outside = (min: number, max: number): fc.Arbitrary<unknown> =>
    fc.oneof(
      text,
      flag,
      nothing,
      list,
      object,
      number.filter((n) => n < min || n > max),
    );

  const BAD: Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>> = {
    chat: {
      model: fc.oneof(notText, fc.constant('')),
      messages: fc.oneof(notList, fc.constant([])),
      stream: notFlag,
      max_tokens: notCount,
      max_completion_tokens: notCount,
      n: notCount,
      temperature: outside(0, 2),
      top_p: outside(0, 1),
      stop: fc.oneof(number, flag, nothing, object, fc.array(text, { minLength: 5 })),
      tools: notList,
      tool_choice: fc.oneof(number, flag, nothing, list),
      user: notText,
      metadata: fc.oneof(notObject, fc.constant({ a: 1 })),
    },
    responses: {
      model: fc.oneof(notText, fc.constant('')),
      input: fc.oneof(number, flag, nothing, object),
      instructions: fc.oneof(number, flag, list, object),
      stream: notFlag,
      max_output_tokens: notCount,
      tools: notList,
      tool_choice: fc.oneof(number, flag, nothing, list),
      user: notText,
      metadata: fc.oneof(notObject, fc.constant({ a: 1 })),
    },
    input_tokens: {
      model: fc.oneof(notText, fc.constant('')),
      input: fc.oneof(number, flag, nothing, object),
      instructions: fc.oneof(number, flag, list, object),
      tools: notList,
      tool_choice: fc.oneof(number, flag, nothing, list),
    },
    compact: {
      model: fc.oneof(notText, fc.constant('')),
      input: fc.oneof(number, flag, nothing, object),
      instructions: fc.oneof(number, flag, list, object),
    },
    messages: {
      model: fc.oneof(notText, fc.constant('')),
      messages: fc.oneof(notList, fc.constant([])),
      system: fc.oneof(number, flag, nothing, object),
      max_tokens: notCount,
      stream: notFlag,
      temperature: fc.oneof(text, flag, nothing, list, object),
      top_p: fc.oneof(text, flag, nothing, list, object),
      top_k: fc.oneof(text, flag, nothing, list, object, fraction),
      stop_sequences: fc.oneof(notList, fc.array(number, { minLength: 1 })),
      tools: notList,
      tool_choice: notObject,
      metadata: notObject,
    },
    count_tokens: {
      model: fc.oneof(notText, fc.constant('')),
      messages: fc.oneof(notList, fc.constant([])),
      system: fc.oneof(number, flag, nothing, object),
      tools: notList,
      tool_choice: notObject,
    },
  };

  const REQUIRED = ['model', 'messages', 'input'];

  for (const name of POSTS) {
    const fields = Object.entries(BAD[name] ?? {});
    // Null is a wrong value only where a value is required.
    const oneBad = fc
      .oneof(...fields.map(([field, value]) => fc.tuple(fc.constant(field), value)))
      .filter(([field, value]) => value !== null || REQUIRED.includes(field));
    test(`[R35] [R62] ${name}: a field of the wrong type or out of bounds is a 400 that names it`, (t) =>
      fuzz(t, oneBad, async ([field, value]) => {
        const error = await refused(name, JSON.stringify(bodyOf(name, 'Hi', { [field]: value })));
        assert.equal(error.param?.match(/^\w+/)?.[0], field, `${error.param}`);
      }));
  }
});

describe('hostile JSON', () => {
  const DEPTH = 100_000;
  const inside = (name: EndpointName, json: string): string =>
    `${JSON.stringify(bodyOf(name)).slice(0, -1)},"metadata":${json}}`;

  test('[F22] 100,000 deep', async () => {
    for (const name of POSTS) {
      await refused(name, '['.repeat(DEPTH) + ']'.repeat(DEPTH));
      await refused(name, `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`);
      await refused(name, inside(name, '['.repeat(DEPTH) + ']'.repeat(DEPTH)));
      await refused(name, inside(name, '{"a":'.repeat(DEPTH)));
    }
  });

  test('[F22] __proto__ at any depth', async () => {
    for (const name of POSTS) {
      for (const json of ['{"__proto__":{"stream":true}}', '[{"a":[{"__proto__":null}]}]', '{"\\u005f_proto__":1}']) {
        const error = await refused(name, inside(name, json));
        assert.match(error.param ?? '', /__proto__/);
      }
      await refused(name, `{"__proto__":${JSON.stringify(bodyOf(name))}}`);
    }
    assert.equal(Object.hasOwn(Object.prototype, 'stream'), false);
  });

  test('[F22] a field given twice', async () => {
    for (const name of POSTS) {
      const body = JSON.stringify(bodyOf(name));
      for (const again of ['"model":"sandbox/tiny"', '"mod\\u0065l":"x"', '"model":"sandbox/alpha"']) {
        const error = await refused(name, `${body.slice(0, -1)},${again}}`);
        assert.match(error.message, /more than once/);
      }
    }
  });

  test('[F22] lone surrogates and text that is not UTF-8', async () => {
    for (const name of POSTS) {
      for (const escaped of ['\\ud800', 'a\\udc00b', '\\ud800\\ud800']) {
        const body = JSON.stringify(bodyOf(name, 'SAID')).replace('SAID', escaped);
        const error = await refused(name, body);
        assert.equal(error.param, fieldOf(name) === 'input' ? 'input' : 'messages[0].content');
      }
      const bytes = Buffer.from(JSON.stringify(bodyOf(name, 'SAID')));
      bytes[bytes.indexOf('SAID')] = 0xff;
      await refused(name, bytes);
      await refused(name, inside(name, '{"\\ud800":1}'));
    }
  });

  test('[F22] NaN, Infinity, comments, trailing commas and other dialects', async () => {
    for (const name of POSTS) {
      for (const json of [
        'NaN',
        'Infinity',
        '-Infinity',
        '0x10',
        '01',
        '+1',
        '1.',
        '.5',
        "'x'",
        '1e',
        'undefined',
        '',
      ]) {
        await refused(name, inside(name, json));
      }
      const body = JSON.stringify(bodyOf(name));
      for (const text of [`${body},`, `${body}${body}`, `//x\n${body}`, `/**/${body}`, `\ufeff${body}`, `${body}\0`]) {
        await refused(name, text);
      }
      await refused(name, `${body.slice(0, -1)},}`);
      await refused(name, body.replaceAll('"', "'"));
    }
  });

  test('[F22] an empty body, and one of white space', async () => {
    for (const name of POSTS) for (const body of ['', ' ', '\r\n\t']) await refused(name, body);
  });

  test('[F22] 100 MB is a 413, and others are served meanwhile', async () => {
    const huge = new Uint8Array(100 * 1024 * 1024).fill(0x20);
    for (const chunked of [false, true]) {
      const upload = rawCall(`${key.base_url}/chat/completions`, {
        method: 'POST',
        headers: [
          ['authorization', `Bearer ${key.key}`],
          ['content-type', 'application/json'],
        ],
        body: huge,
        chunked,
      });
      assert.equal((await call(`${gateway.origin}/healthz`)).status, 200);
      const reply = await upload;
      assert.deepEqual([reply.status, JSON.parse(reply.text).error.code], [413, 'request_too_large']);
    }
  });

  test('[F22] a very wide object', async () => {
    const fields = Array.from({ length: 200_000 }, (_, i) => `"f${i}":0`).join(',');
    for (const name of POSTS) await refused(name, `${JSON.stringify(bodyOf(name)).slice(0, -1)},${fields}}`);
  });
});

describe('the output limit', () => {
  test('[F23] 0, −1, 1e308, "5" and over the limit are 400s in Format A', async () => {
    for (const [name, field] of [
      ['chat', 'max_tokens'],
      ['chat', 'max_completion_tokens'],
      ['responses', 'max_output_tokens'],
    ] as const) {
      for (const value of ['0', '-1', '1e308', '"5"', '64001', '1e999', '9007199254740993', '0.5', '[]']) {
        const error = await refused(name, `${JSON.stringify(bodyOf(name)).slice(0, -1)},"${field}":${value}}`);
        assert.equal(error.param, field, value);
      }
    }
  });

  test('[F23] 0, −1 and "5" are 400s in Format B; over the limit it is capped', async () => {
    for (const value of ['0', '-1', '"5"', '0.5']) {
      const error = await refused(
        'messages',
        `${JSON.stringify(bodyOf('messages')).slice(0, -1)},"max_tokens":${value}}`,
      );
      assert.equal(error.param, 'max_tokens');
    }
    const other = await gateway.creditKey();
    for (const value of ['64001', '9007199254740993', '1e308']) {
      const body = `${JSON.stringify(bodyOf('messages', '[[echo]]')).slice(0, -1)},"max_tokens":${value}}`;
      const response = await visit(other, 'messages', { body });
      assert.equal(response.status, 200, value);
      assert.equal(JSON.parse(await answerText('messages', response)).max_tokens, 64_000);
    }
  });
});
