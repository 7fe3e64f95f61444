/**
 * A plan that is made of what was compiled for others before it, held against the same plan made from nothing: the catalog of
 * the second and its models are unknown, and its cost fields are looked at although there are none.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { sandboxModels } from '../../../src/config/sandbox.ts';
import { GatewayError } from '../../../src/core/conditions.ts';
import { ENDPOINTS, type Format } from '../../../src/core/endpoints.ts';
import type { KeyRecord } from '../../../src/core/key.ts';
import type { Model, Target } from '../../../src/core/model.ts';
import type { Pricing, Rates } from '../../../src/core/money.ts';
import type { Catalog, Provider } from '../../../src/core/provider.ts';
import { makePlan } from '../../../src/exchange/make-plan.ts';
import type { Plan } from '../../../src/exchange/plan.ts';
import { couldAffordWithExactCount, holdAmounts, holdTokens, worstTokens } from '../../../src/exchange/price.ts';
import type { FormatEndpoint, ReadRequest } from '../../../src/exchange/request.ts';
import { readCostFields } from '../../../src/wire/cost-fields.ts';
import { FORMATS } from '../../../src/wire/formats.ts';
import { parseBody } from '../../../src/wire/json/parse-request.ts';
import { wholeBytes } from '../../../src/wire/lane.ts';
import { provider, target } from '../routing/fixtures.ts';

type PlanContext = Parameters<typeof makePlan>[0];

const PROVIDERS = ['alpha', 'beta', 'gone'] as const;
const MODELS = ['small', 'large/one'] as const;
/** Says it several times where it should come more often. */
const often = <T>(value: T, times = 4): T[] => Array(times).fill(value);
const FORMAT_NAMES: readonly Format[] = ['chat', 'responses', 'messages'];

const anyRate = fc.constantFrom(0n, 1n, 5n, 7n);
const rates: fc.Arbitrary<Rates> = fc.record({
  input: anyRate,
  output: anyRate,
  cacheRead: anyRate,
  cacheWrite: anyRate,
  cacheWrite1h: anyRate,
  inputImage: anyRate,
});
const twice = { numerator: 2n, denominator: 1n };
const modifiers = fc.constantFrom<NonNullable<Pricing['modifiers']>[string]>(
  { multipliers: {}, hostedTools: {} },
  { multipliers: { service_tier: { priority: twice } }, hostedTools: {} },
  { multipliers: { speed: { fast: twice } }, hostedTools: { web_search: { nanosPerCall: twice, maxCalls: 3 } } },
);
const pricing: fc.Arbitrary<Pricing> = fc
  .record({ first: rates, second: rates, from: fc.constantFrom(null, 1, 400), alpha: modifiers, beta: modifiers })
  .map(({ first, second, from, alpha, beta }) => ({
    per: 3n,
    tiers: [{ fromInputTokens: 0, rates: first }, ...(from === null ? [] : [{ fromInputTokens: from, rates: second }])],
    longCacheWrites: from === null,
    modifiers: { alpha, beta },
  }));

const anyTarget: fc.Arbitrary<Target> = fc
  .record({
    name: fc.constantFrom(...often('alpha'), ...often('beta'), 'gone'),
    format: fc.constantFrom(...FORMAT_NAMES),
    upstreamModel: fc.constantFrom('m', 'claude-opus-4-5', 'claude-opus-5'),
  })
  .map(({ name, format, upstreamModel }) => target(name, { format, upstreamModel }));

const [SANDBOX] = sandboxModels(1);
assert.ok(SANDBOX);
const anyModel: fc.Arbitrary<Model> = fc
  .record({
    id: fc.constantFrom(...MODELS),
    targets: fc.tuple(anyTarget, fc.array(anyTarget, { maxLength: 2 })),
    lacks: fc.constantFrom(...often(''), 'tools', 'images', 'reasoning', 'structured_output', 'streaming'),
    contextWindow: fc.constantFrom(null, 600, 100_000),
    maxOutputTokens: fc.constantFrom(...often(null), 200, 8_000),
    visibleOutput: fc.constantFrom(null, true, false),
    outputSpeed: fc.constantFrom(null, 50),
    limitUnsaid: fc.constantFrom(null, 100, 50_000),
    pricing,
  })
  .map(({ targets: [first, others], lacks, limitUnsaid, ...said }) => ({
    ...(SANDBOX as Model),
    ...said,
    provider: first.provider,
    targets: [first, ...others],
    capabilities: {
      ...{ tools: true, images: true, reasoning: true, structured_output: true, streaming: true },
      ...(lacks === '' ? {} : { [lacks]: false }),
    },
    defaults: limitUnsaid === null ? null : { max_output_tokens: limitUnsaid },
  }));

const anyProviders: fc.Arbitrary<ReadonlyMap<string, Provider>> = fc
  .array(fc.record({ totalMs: fc.constantFrom(1_000, 9_000), storesResponses: fc.boolean() }), {
    minLength: 2,
    maxLength: 2,
  })
  .map(
    (said) =>
      new Map(
        said.map(({ totalMs, storesResponses }, index): [string, Provider] => {
          const plain = provider(PROVIDERS[index] ?? '');
          return [plain.name, { ...plain, storesResponses, timeouts: { ...plain.timeouts, totalMs } }];
        }),
      ),
  );

/** Catalogs that share their models, as those before and after a reload may. */
const anyCatalogs: fc.Arbitrary<readonly Catalog[]> = fc
  .tuple(
    fc.array(anyModel, { minLength: 2, maxLength: 4 }),
    fc.array(anyModel, { maxLength: 2 }),
    fc.array(anyProviders, { minLength: 2, maxLength: 2 }),
  )
  .map(([models, changed, providers]) =>
    providers.map((known, index) => ({
      models: new Map([...models, ...(index === 0 ? [] : changed)].map((model) => [model.id, model])),
      withDefaults: null,
      providers: known,
      pricesUntilMs: Number.POSITIVE_INFINITY,
    })),
  );

const anyPolicy: fc.Arbitrary<PlanContext['policy']> = fc.record({
  holds: fc.constantFrom('full' as const, 'elastic' as const),
  elasticKeys: fc.constantFrom([], ['k']),
  streams: fc.record({
    totalMs: fc.constantFrom(5_000, 6_000),
    keepAliveMs: fc.constant(0),
    holdWaitMs: fc.constant(0),
    headersWaitMs: fc.constant(0),
  }),
  runs: fc.constant({ totalMs: 7_000, eventBytes: 0, keyBytes: 0 }),
});

const anyModels = fc.constantFrom(...often(null), ['large/*'], [...MODELS]);
const anyLimit = fc.constantFrom(...often(null), 150, 4_000);
/** Versions of one key. */
const anyKeys: fc.Arbitrary<readonly KeyRecord[]> = fc
  .array(
    fc.record({
      mode: fc.constantFrom('credit' as const, 'token_budget' as const),
      providerScope: fc.constantFrom(...often('all'), ...PROVIDERS),
      models: anyModels,
      outputLimit: anyLimit,
      tpmLimit: fc.constantFrom(null, 1_000),
      accountId: fc.constantFrom(null, 'a'),
      inherited: fc.array(
        fc.record({ models: anyModels, outputLimit: anyLimit, addresses: fc.constant(null), tpmLimited: fc.boolean() }),
        { maxLength: 2 },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((versions) =>
    versions.map((said, index) => ({
      ...{ id: 'k', version: index, label: null, status: 'active', expiresAtMs: null, rpmLimit: null },
      ...{ parallelLimit: null, runsLimit: null, addresses: null, budget: null, period: 'none', cap: null },
      ...{ captureDays: null, createdAtMs: 0, prefix: '' },
      ...said,
    })),
  );

/** What a request may add to a question; most add little. */
const EXTRAS: Readonly<Record<Format, readonly object[]>> = {
  chat: [
    { reasoning_effort: 'none' },
    { reasoning_effort: 'high' },
    { n: 3 },
    { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] },
    { response_format: { type: 'json_object' } },
    { prediction: { type: 'content', content: 'x' } },
    { web_search_options: {} },
    { modalities: ['text'] },
    { store: true },
  ],
  responses: [
    { reasoning: { effort: 'none' } },
    { reasoning: { effort: 'high' } },
    { tools: [{ type: 'function', name: 'f', parameters: {} }] },
    { tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: {} }] },
    { text: { format: { type: 'json_object' } } },
  ],
  messages: [
    { thinking: { type: 'enabled', budget_tokens: 1_024 } },
    { thinking: { type: 'disabled' } },
    { tools: [{ name: 'f', input_schema: { type: 'object' } }] },
    { cache_control: { type: 'ephemeral', ttl: '1h' } },
  ],
};
const COMMON_EXTRAS: readonly object[] = [{ service_tier: 'auto' }, { service_tier: 'priority' }, { speed: 'fast' }];
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';
const CONTENTS: Readonly<Record<Format, readonly unknown[]>> = {
  chat: ['q'.repeat(700), [{ type: 'image_url', image_url: { url: IMAGE } }]],
  responses: ['q'.repeat(700), [{ type: 'input_image', image_url: IMAGE }]],
  messages: [
    'q'.repeat(700),
    [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }],
  ],
};
const LIMIT_FIELD = { chat: 'max_completion_tokens', responses: 'max_output_tokens', messages: 'max_tokens' } as const;

interface Asked {
  readonly endpoint: FormatEndpoint;
  readonly request: ReadRequest;
  readonly body: string;
}

const anyRequest: fc.Arbitrary<Asked> = fc
  .constantFrom(...FORMAT_NAMES)
  .chain((format) =>
    fc.record({
      format: fc.constant(format),
      model: fc.constantFrom(...often(MODELS).flat(), 'unlisted'),
      content: fc.constantFrom(...often('q'), ...CONTENTS[format]),
      limit: fc.constantFrom(null, 100, 3_000, 9_000),
      extras: fc.array(fc.constantFrom(...often({ stream: true }), ...COMMON_EXTRAS, ...EXTRAS[format]), {
        maxLength: 2,
      }),
      background: fc.constantFrom(false, false, false, true),
      counts: fc.constantFrom(false, false, false, true),
    }),
  )
  .map(({ format, model, content, limit, extras, background, counts }) => {
    const turns = [{ role: 'user', content }];
    const said = {
      ...{ model, [format === 'responses' ? 'input' : 'messages']: turns },
      ...(limit === null ? {} : { [LIMIT_FIELD[format]]: limit }),
      ...Object.assign({}, ...extras),
    };
    const counter = format === 'messages' ? ENDPOINTS.count_tokens : ENDPOINTS.input_tokens;
    const endpoint = counts && format !== 'chat' ? counter : ENDPOINTS[format];
    return { endpoint, body: JSON.stringify(said), request: read(format, JSON.stringify(said), background) };
  });

function read(format: Format, text: string, background: boolean): ReadRequest {
  try {
    const parsed = parseBody(Buffer.from(text));
    const info = FORMATS[format].validateRequest(parsed.body, parsed.bytes, { betas: false });
    const run = background ? { streamed: false } : undefined;
    return { ...parsed, info, costFields: readCostFields(parsed, null), run };
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** Everything that the rest of an exchange sees of a plan. */
function shown(plan: Plan | GatewayError, { providers }: Catalog): object {
  if (plan instanceof GatewayError) return { refused: plan.condition, message: plan.message, param: plan.param };
  const { model, targets, lanes, input, speed, request: _, ...figures } = plan;
  const sent = targets.map((to) => {
    const at = providers.get(to.provider);
    assert.ok(at);
    // A count is planned whether or not it could be sent.
    const refusal = lanes.refusal(to, at);
    if (refusal !== null) return refusal.message;
    const { kind, warnings, requestBody } = lanes.to(to, at);
    const order = { upstreamModel: to.upstreamModel, outputLimit: plan.outputLimit };
    return { kind, warnings, bytes: wholeBytes(requestBody(order)).toString() };
  });
  return {
    ...{ model: model.id, targets, sent, ...figures, speed: speed?.() ?? null },
    ...{ high: input.high, likely: input.likely, mayExceed: input.mayExceedWindow, job: input.toJob() },
    ...{ credits: holdAmounts('credit', plan), budget: holdAmounts('token_budget', plan) },
    ...{ tokens: holdTokens(plan), worst: worstTokens(plan) },
    affordable: couldAffordWithExactCount('credit', plan, 1_000n),
  };
}

/** A plan for the same that finds nothing compiled, and leaves nothing out because the request asks for nothing. */
function shownAnew(context: PlanContext, key: KeyRecord, { endpoint, request }: Asked): object {
  const asked = request instanceof GatewayError ? request : { ...request, costFields: { ...request.costFields } };
  const models = new Map(Array.from(context.catalog.models, ([id, model]) => [id, { ...model }]));
  const catalog = { ...context.catalog, models };
  return shown(makePlan({ ...context, catalog }, key, endpoint, asked, null), catalog);
}

const speeds = { bound: ({ provider: name }: Target) => (name === 'alpha' ? 30 : null) };

describe('a compiled plan', () => {
  test('is what would be planned anew, whatever was compiled before it', () => {
    const refused = new Set<string>();
    let planned = 0;
    const anyStep = fc.record({
      catalog: fc.nat({ max: 1 }),
      policy: fc.nat({ max: 1 }),
      key: fc.nat({ max: 2 }),
      asked: anyRequest,
    });
    fc.assert(
      fc.property(
        anyCatalogs,
        fc.array(anyPolicy, { minLength: 2, maxLength: 2 }),
        anyKeys,
        fc.array(anyStep, { minLength: 4, maxLength: 12 }),
        (catalogs, policies, keys, steps) => {
          for (const { catalog: which, policy: by, key: version, asked } of steps) {
            const catalog = catalogs[which];
            const policy = policies[by];
            const key = keys[version % keys.length];
            assert.ok(catalog && policy && key);
            const context = { catalog, policy, speeds };
            const plan = makePlan(context, key, asked.endpoint, asked.request, null);
            assert.deepEqual(shown(plan, catalog), shownAnew(context, key, asked), asked.body);
            if (plan instanceof GatewayError) refused.add(plan.message);
            else planned++;
          }
        },
      ),
      { numRuns: 400, seed: 30 },
    );
    // The steps must come through, or be refused for what plans are refused for.
    assert.ok(planned > 500, `${planned} plans`);
    assert.ok(refused.size > 50, [...refused].join('\n'));
  });
});
