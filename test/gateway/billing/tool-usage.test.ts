/** What OpenAI says it bills for hosted tools counts instead of the output items that show them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { accountWhen } from '../../support/requests.ts';
import { ask, withScene } from '../../support/scripted-gateway.ts';
import { SPEECH, spoken } from '../../support/upstreams/spoken.ts';

/** 21 tokens of input and 8 of output, at 1 and 4 USD per million; 10 USD per thousand searches, 50 per thousand images. */
const PLAIN = 53_000;
const SEARCH = 10_000_000;
const IMAGE = 50_000_000;

function provider(tokens: object): object {
  const image = { per_1000_calls: 50, max_calls: 2, ...tokens };
  return { formats: ['responses'], hosted_tools: { web_search: { per_1000_calls: 10 }, image_generation: image } };
}

/** At the provider `tokens` images are charged by their tokens, at `calls` by the call. */
const { gateway, upstream } = await withScene({
  providers: { tokens: provider({ tokens: { input: 10, output: 40 } }), calls: provider({}) },
  models: ['tokens', 'calls'].map((name) => ({ id: name, provider: name })),
});

const TOOLS = [{ type: 'web_search' }, { type: 'image_generation' }];
const ITEMS = [
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
  { type: 'web_search_call', id: 'ws_2', status: 'completed', action: { type: 'search', query: 'q' } },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
];

interface Charged {
  readonly amount: number;
  readonly flags: number;
}

async function charge(model: string, stream: boolean, toolUsage: unknown): Promise<Charged> {
  const key: CreatedKey = await gateway.creditKey();
  const patched = (response: object) => ({ ...response, output: ITEMS, tool_usage: toolUsage });
  upstream.answer = (call) => {
    if (!stream) return call.reply(200, patched(SPEECH.responses.whole('Hi')));
    call.stream(
      spoken('responses', 'Hi').map((frame) =>
        frame.startsWith('event: response.completed')
          ? frame.replace(/^data: (\{.*\})$/m, (_, json: string) => {
              const event = JSON.parse(json) as { readonly response: object };
              return `data: ${JSON.stringify({ ...event, response: patched(event.response) })}`;
            })
          : frame,
      ),
    );
  };
  const before = (await gateway.audit()).flagged;
  const answer = await ask(key, 'responses', { model, stream, tools: TOOLS });
  assert.equal(answer.status, 200, answer.text);
  const { used } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
  return { amount: Math.round(used * 1e9), flags: (await gateway.audit()).flagged - before };
}

const images = (input: unknown, output: unknown) => ({ image_gen: { input_tokens: input, output_tokens: output } });
const searches = (num_requests: unknown) => ({ web_search: { num_requests } });

describe('[R60] tool_usage', () => {
  for (const stream of [false, true]) {
    test(`${stream ? 'streamed' : 'whole'}: billable searches and the tokens of images are charged as reported`, async () => {
      const cases: readonly (readonly [model: string, usage: unknown, fee: number, flags: number])[] = [
        ['tokens', undefined, 2 * SEARCH + IMAGE, 0],
        ['tokens', { ...searches(1), ...images(100, 1_000) }, SEARCH + 100 * 10_000 + 1_000 * 40_000, 0],
        ['tokens', { ...searches(0), ...images(0, 0) }, IMAGE, 0],
        ['tokens', { ...searches(3), ...images(0, 10) }, 3 * SEARCH + 10 * 40_000, 0],
        ['calls', { ...searches(1), ...images(100, 1_000) }, SEARCH + IMAGE, 0],
        ['calls', null, 2 * SEARCH + IMAGE, 0],
        ['tokens', { ...searches(-1), ...images('1', 2 ** 60) }, 2 * SEARCH + IMAGE, 1],
      ];
      for (const [model, usage, fee, flags] of cases) {
        assert.deepEqual(await charge(model, stream, usage), { amount: PLAIN + fee, flags }, JSON.stringify(usage));
      }
    });
  }
});
