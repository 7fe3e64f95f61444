/**
 * Field × format × lane: refused, priced or passed, with the exact charge. The upstream reports 21 tokens of input and 8 of
 * output; at 1 and 4 USD per million tokens and a mark-up of 1.5 that is 79,500 billionths of a credit.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { accountWhen } from '../../support/requests.ts';
import { ask, ClientStream, errorOf, withScene } from '../../support/scripted-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH, spoken } from '../../support/upstreams/spoken.ts';

const PLAIN = 79_500;
/** 10 USD per thousand calls, times the mark-up. */
const SEARCH = 15_000_000;

const PROVIDER = {
  markup: 1.5,
  multipliers: { speed: { fast: 3 }, service_tier: { priority: 2, flex: 0.5 }, inference_geo: { us: 1.1 } },
  hosted_tools: {
    web_search: { per_1000_calls: 10, max_calls: 5 },
    file_search: { per_1000_calls: 2.5, max_calls: 4 },
  },
};
/** One provider and one model for each format that a target can have. */
const { gateway, upstream } = await withScene({
  providers: Object.fromEntries(FORMAT_NAMES.map((format) => [`to-${format}`, { ...PROVIDER, formats: [format] }])),
  models: FORMAT_NAMES.map((format) => ({
    id: `to-${format}`,
    provider: `to-${format}`,
    pricing: { input: 1, output: 4, input_audio: 10, input_image: 2, output_audio: 40, output_image: 30 },
  })),
});

/** What the provider says about how it made the answer. */
interface Report {
  readonly tier?: unknown;
  readonly speed?: string;
  readonly geo?: string;
  /** As a usage report counts them. */
  readonly searches?: unknown;
  /** Output items of the responses format. */
  readonly items?: readonly object[];
  readonly parts?: { readonly audio?: number; readonly image?: number; readonly spoken?: number };
}

type Members = Record<string, unknown>;

function usageWith(format: Format, usage: Members, { searches, parts, ...made }: Report): Members {
  const counts = searches === undefined ? {} : { server_tool_use: { web_search_requests: searches } };
  if (format === 'messages') {
    return { ...usage, ...counts, service_tier: made.tier ?? null, speed: made.speed, inference_geo: made.geo };
  }
  const [input, output] =
    format === 'chat'
      ? ['prompt_tokens_details', 'completion_tokens_details']
      : ['input_tokens_details', 'output_tokens_details'];
  return {
    ...usage,
    ...counts,
    [input ?? '']: { ...(usage[input ?? ''] as object), audio_tokens: parts?.audio, image_tokens: parts?.image },
    [output ?? '']: { ...(usage[output ?? ''] as object), audio_tokens: parts?.spoken },
  };
}

/** The answer, chunk or event with the report put where its format has it. */
function withReport(format: Format, value: Members, report: Report): Members {
  const holder = (value.response ?? value.message ?? value) as Members;
  const patched: Members = { ...holder };
  if (holder.usage) patched.usage = usageWith(format, holder.usage as Members, report);
  // Without a tier the member is left out: the provider does not report it.
  if (format !== 'messages' && !('type' in holder)) patched.service_tier = report.tier;
  if (format === 'responses' && holder.status === 'completed') {
    patched.output = [...(report.items ?? []), ...(holder.output as object[])];
  }
  if (value.response) return { ...value, response: patched };
  return value.message ? { ...value, message: patched } : patched;
}

function framesWith(format: Format, report: Report): string[] {
  const items = (report.items ?? []).map((item, index) => {
    const done = { type: 'response.output_item.done', sequence_number: 7 + index, output_index: index + 1, item };
    return `event: response.output_item.done\ndata: ${JSON.stringify(done)}\n\n`;
  });
  return spoken(format, 'Hi').flatMap((frame) => {
    const patched = frame.replace(/^data: (\{.*\})$/m, (_, json: string) => {
      return `data: ${JSON.stringify(withReport(format, JSON.parse(json) as Members, report))}`;
    });
    return frame.startsWith('event: response.completed') ? [...items, patched] : [patched];
  });
}

function answerWith(target: Format, report: Report): (call: ScriptedCall) => void {
  return (call) => {
    if (call.body.stream === true) call.stream(framesWith(target, report));
    else call.reply(200, withReport(target, SPEECH[target].whole('Hi') as Members, report));
  };
}

const MESSAGES_OF: Readonly<Record<string, RegExp>> = {
  speed: /speed|fast mode/,
  service_tier: /service[_ ]tier/,
  inference_geo: /inference_geo/,
};

type Expected = number | { readonly refused: string };

interface Row {
  readonly name: string;
  readonly asked?: object;
  readonly report?: (target: Format) => Report;
  readonly expected: (client: Format, target: Format) => Expected;
  readonly flagged?: (target: Format) => boolean;
}

/** The tier of one format has no name in the other. */
function unlessForeignTier(charge: number): Row['expected'] {
  return (client, target) => (target === 'messages' && client !== 'messages' ? { refused: 'service_tier' } : charge);
}

/** A field that the target's format does not have cannot be sent, and is refused rather than lost. */
function onlyNative(field: string, charge: number): Row['expected'] {
  return (client, target) => (client === target ? charge : { refused: field });
}

const ROWS: readonly Row[] = [
  { name: 'nothing asked for, nothing reported', expected: () => PLAIN },
  {
    name: 'priority asked for and given',
    asked: { service_tier: 'priority' },
    report: () => ({ tier: 'priority' }),
    expected: unlessForeignTier(2 * PLAIN),
  },
  {
    name: 'priority asked for, served at the standard tier',
    asked: { service_tier: 'priority' },
    report: (target) => ({ tier: target === 'messages' ? 'standard' : 'default' }),
    expected: unlessForeignTier(PLAIN),
  },
  {
    name: 'priority asked for, the tier not reported',
    asked: { service_tier: 'priority' },
    expected: unlessForeignTier(2 * PLAIN),
  },
  {
    name: 'flex asked for and given',
    asked: { service_tier: 'flex' },
    report: () => ({ tier: 'flex' }),
    expected: unlessForeignTier(39_750),
  },
  { name: 'priority given unasked', report: () => ({ tier: 'priority' }), expected: () => 2 * PLAIN },
  { name: 'a tier without a price', report: () => ({ tier: 'scale' }), expected: () => PLAIN, flagged: () => true },
  { name: 'a tier that is no name', report: () => ({ tier: 7 }), expected: () => PLAIN, flagged: () => true },
  { name: 'fast, not reported', asked: { speed: 'fast' }, expected: onlyNative('speed', 3 * PLAIN) },
  {
    name: 'fast asked for, served at standard speed',
    asked: { speed: 'fast' },
    report: () => ({ speed: 'standard' }),
    expected: (client, target) => onlyNative('speed', target === 'messages' ? PLAIN : 3 * PLAIN)(client, target),
  },
  { name: 'a speed without a price', asked: { speed: 'ludicrous' }, expected: () => ({ refused: 'speed' }) },
  { name: 'a region, not reported', asked: { inference_geo: 'us' }, expected: onlyNative('inference_geo', 87_450) },
  {
    name: 'a region reported unasked',
    report: () => ({ geo: 'us' }),
    expected: (_, target) => (target === 'messages' ? 87_450 : PLAIN),
  },
  {
    name: 'fast in a region: the multipliers are multiplied',
    asked: { speed: 'fast', inference_geo: 'us' },
    report: () => ({ speed: 'fast', geo: 'us' }),
    expected: onlyNative('speed', 262_350),
  },
  {
    // 11 × 1 + 10 × 10 + 5 × 4 + 3 × 40 = 251
    name: 'sound among the tokens',
    report: () => ({ parts: { audio: 10, spoken: 3 } }),
    expected: (_, target) => (target === 'messages' ? PLAIN : 376_500),
  },
  {
    // 11 × 1 + 10 × 2 + 8 × 4 = 63
    name: 'images among the tokens',
    report: () => ({ parts: { image: 10 } }),
    expected: (_, target) => (target === 'messages' ? PLAIN : 94_500),
  },
  {
    name: 'parts that are no counts',
    report: () => ({ parts: { audio: -1, image: 0.5 } }),
    expected: () => PLAIN,
    flagged: (target) => target !== 'messages',
  },
];

async function chargeOf(key: CreatedKey): Promise<number> {
  const { used } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
  return Math.round(used * 1e9);
}

async function flaggedCharges(): Promise<number> {
  return (await gateway.audit()).flagged;
}

describe('[R60] what changes the cost is charged as the provider reports it', () => {
  for (const client of FORMAT_NAMES) {
    for (const target of FORMAT_NAMES) {
      for (const stream of [false, true]) {
        test(`${client} to ${target}, ${stream ? 'streamed' : 'whole'}`, async () => {
          for (const { name, asked, report, expected, flagged } of ROWS) {
            upstream.answer = answerWith(target, report?.(target) ?? {});
            const key = await gateway.creditKey();
            const flaggedBefore = await flaggedCharges();
            const answer = await ask(key, client, { model: `to-${target}`, stream, ...asked });
            const wanted = expected(client, target);
            if (typeof wanted === 'number') {
              assert.equal(answer.status, 200, `${name}: ${answer.text}`);
              assert.equal(await chargeOf(key), wanted, name);
            } else {
              assert.equal(answer.status, 400, name);
              assert.match(errorOf(answer).message, MESSAGES_OF[wanted.refused] ?? /^$/);
              assert.equal(await chargeOf(key), 0, name);
            }
            const flags = (await flaggedCharges()) - flaggedBefore;
            assert.equal(flags, flagged?.(target) ? 1 : 0, name);
          }
        });
      }
    }
  }

  test('a token budget counts tokens, whatever they cost', async () => {
    upstream.answer = answerWith('messages', { tier: 'priority', speed: 'fast', geo: 'us', searches: 3 });
    const key = await gateway.tokenKey();
    const extra = { model: 'to-messages', speed: 'fast', inference_geo: 'us', tools: SEARCH_TOOLS.messages };
    assert.equal((await ask(key, 'messages', extra)).status, 200);
    assert.equal((await gateway.admin.showKey(key.id)).used, 29);
  });
});

const SEARCH_TOOLS = {
  messages: [{ type: 'web_search_20250305', name: 'web_search' }],
  responses: [{ type: 'web_search_preview' }],
} as const;

function searchItem(action: string, status = 'completed'): object {
  return { type: 'web_search_call', id: `ws_${action}`, status, action: { type: action, query: 'q' } };
}

describe('[R60] calls of hosted tools are charged by the call', () => {
  const cases: readonly (readonly [string, Format, object, Report, number])[] = [
    ['as usage counts them', 'messages', { tools: SEARCH_TOOLS.messages }, { searches: 2 }, 2],
    ['none made', 'messages', { tools: SEARCH_TOOLS.messages }, { searches: 0 }, 0],
    [
      'by output items; opening a page, and a call that failed, cost nothing',
      'responses',
      { tools: SEARCH_TOOLS.responses },
      { items: [searchItem('search'), searchItem('open_page'), searchItem('search', 'failed'), searchItem('search')] },
      2,
    ],
    ['one for each answer where there is no count', 'chat', { web_search_options: {} }, {}, 1],
    ['as a chat server counts them', 'chat', { web_search_options: {} }, { searches: 3 }, 3],
  ];
  for (const [name, format, asked, report, calls] of cases) {
    for (const stream of [false, true]) {
      test(`${format}, ${stream ? 'streamed' : 'whole'}: ${name}`, async () => {
        upstream.answer = answerWith(format, report);
        const key = await gateway.creditKey();
        const answer = await ask(key, format, { model: `to-${format}`, stream, ...asked });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(await chargeOf(key), PLAIN + calls * SEARCH);
      });
    }
  }

  test('messages: calls that only the blocks show are counted by them', async () => {
    const block = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
    const key = await gateway.creditKey();
    upstream.answer = (call) => {
      const whole = SPEECH.messages.whole('Hi') as { content: object[] };
      call.reply(200, { ...whole, content: [block, ...whole.content] });
    };
    await ask(key, 'messages', { model: 'to-messages', tools: SEARCH_TOOLS.messages });
    upstream.answer = (call) => {
      const [start = '', ...rest] = spoken('messages', 'Hi');
      const shown = { type: 'content_block_start', index: 1, content_block: block };
      call.stream([start, `event: content_block_start\ndata: ${JSON.stringify(shown)}\n\n`, ...rest]);
    };
    await ask(key, 'messages', { model: 'to-messages', stream: true, tools: SEARCH_TOOLS.messages });
    assert.equal(await chargeOf(key), 2 * (PLAIN + SEARCH));
  });

  test('calls without a price, and counts that are none, are charged without and flagged', async () => {
    const reports: readonly (readonly [Format, object, Report])[] = [
      ['messages', { tools: SEARCH_TOOLS.messages }, { searches: -1 }],
      ['messages', { tools: SEARCH_TOOLS.messages }, { searches: 1.5 }],
      ['messages', { tools: SEARCH_TOOLS.messages }, { searches: '2' }],
      ['messages', { tools: SEARCH_TOOLS.messages }, { searches: 2 ** 60 }],
      ['responses', {}, { items: [{ type: 'code_interpreter_call', id: 'ci_1', status: 'completed' }] }],
    ];
    for (const [format, asked, report] of reports) {
      const key = await gateway.creditKey();
      const before = await flaggedCharges();
      upstream.answer = answerWith(format, report);
      await ask(key, format, { model: `to-${format}`, ...asked });
      assert.equal(await chargeOf(key), PLAIN, JSON.stringify(report));
      assert.equal(await flaggedCharges(), before + 1, JSON.stringify(report));
    }
  });

  test('the bound of calls is sent upstream; a lower one of the client stays', async () => {
    const sent = async (format: Format, extra: object): Promise<Readonly<Record<string, unknown>>> => {
      let body: Readonly<Record<string, unknown>> = {};
      upstream.answer = (call) => {
        body = call.body;
        answerWith(format, {})(call);
      };
      const answer = await ask(await gateway.creditKey(), format, { model: `to-${format}`, ...extra });
      assert.equal(answer.status, 200, answer.text);
      return body;
    };
    const [tool] = SEARCH_TOOLS.messages;
    for (const [given, expected] of [
      [undefined, 5],
      [2, 2],
      [50, 5],
    ]) {
      const { tools } = await sent('messages', { tools: [{ ...tool, max_uses: given }] });
      assert.deepEqual(tools, [{ ...tool, max_uses: expected }]);
      const { max_tool_calls } = await sent('responses', { tools: SEARCH_TOOLS.responses, max_tool_calls: given });
      assert.equal(max_tool_calls, expected);
    }
    // 5 × 10 + 4 × 2.5 = 60 is held: six calls of the dearest are within it, nine would not be.
    const both = [...SEARCH_TOOLS.responses, { type: 'file_search', vector_store_ids: [] }];
    assert.equal((await sent('responses', { tools: both })).max_tool_calls, 6);
    assert.equal('max_tool_calls' in (await sent('responses', { tools: [{ type: 'function', name: 'f' }] })), false);
  });

  test('[R13] calls beyond the bound are charged up to the hold, and flagged', async () => {
    upstream.answer = null;
    const key = await gateway.creditKey();
    const before = await flaggedCharges();
    const extra = { model: 'to-messages', tools: SEARCH_TOOLS.messages };
    const client = new ClientStream(key, 'messages', SPEECH.messages.request(extra)).read();
    const call = await upstream.next();
    const { reserved } = await gateway.admin.showKey(key.id);
    answerWith('messages', { searches: 1_000 })(call);
    await client.ended;
    assert.equal(await chargeOf(key), Math.round(reserved * 1e9));
    assert.ok(reserved > (5 * SEARCH) / 1e9);
    assert.equal(await flaggedCharges(), before + 1);
  });

  test('[R13] the hold carries the price of sound and images that are sent', async () => {
    const text = { type: 'text', text: 'Hi' };
    const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const held = async (content: unknown): Promise<number> => {
      upstream.answer = null;
      const key = await gateway.creditKey();
      const body = { model: 'to-chat', max_tokens: 100, messages: [{ role: 'user', content }] };
      const client = new ClientStream(key, 'chat', body).read();
      const call = await upstream.next();
      const { reserved } = await gateway.admin.showKey(key.id);
      answerWith('chat', {})(call);
      await client.ended;
      return reserved;
    };
    // A file counts as the whole window, an image as 20,000 tokens; with the mark-up, at 10 and 2 USD per million.
    assert.ok((await held([text, sound])) > 3);
    const pictured = await held([text, image]);
    assert.ok(pictured > 0.06 && pictured < 0.07, String(pictured));
    assert.ok((await held([text])) < 0.006);
  });

  test('[F48] [R49] sound and images that a client has had when it leaves are charged at their own prices', async () => {
    const chunk = (delta: object): string =>
      SPEECH.chat.text('').replace(/"delta":\{[^}]*\}/, `"delta":${JSON.stringify(delta)}`);
    const data = 'A'.repeat(64_000);
    const url = `data:image/png;base64,${data}`;
    for (const [modality, delta, tokensNanos] of [
      // A second is twenty tokens, and an image 1,290; with the mark-up, at 40 and 30 USD per million.
      ['audio', { audio: { data } }, 20 * 60_000],
      ['image', { images: [{ type: 'image_url', image_url: { url } }] }, 1_290 * 45_000],
    ] as const) {
      upstream.answer = null;
      const key = await gateway.creditKey();
      const asked = { model: 'to-chat', stream: true, max_tokens: 4_000, modalities: ['text', modality] };
      const client = new ClientStream(key, 'chat', SPEECH.chat.request(asked)).read();
      const call = await upstream.next();
      call.streamHead();
      for (const frame of [...SPEECH.chat.opening, chunk(delta)]) call.chunk(frame);
      await client.until(/AAAA"/);
      client.close();
      await call.closed;
      const inputNanos = (await chargeOf(key)) - tokensNanos;
      assert.ok(inputNanos > 0 && inputNanos < 200_000, `${modality}: ${inputNanos} beside it`);
    }
  });
});
