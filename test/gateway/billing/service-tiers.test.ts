/** The tier that an answer was served at, where the request left it open or the provider chose another. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { accountWhen } from '../../support/requests.ts';
import { ask } from '../../support/scripted-gateway.ts';
import { withGateway } from '../../support/started-gateway.ts';
import { ScriptedServer } from '../../support/upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

/** 21 tokens of input and 8 of output, at 1 and 4 USD per million. */
const PLAIN = 53_000;

const upstream = await ScriptedServer.start();
const gateway = await withGateway({ config: config() });
after(() => upstream.close());

/** Providers `tiers-FORMAT` have a tier that costs more, providers `cheap-FORMAT` have none. */
function config(): string {
  const names = FORMAT_NAMES.flatMap((format) => [`tiers-${format}`, `cheap-${format}`]);
  const provider = (name: string) => ({
    kind: 'openai',
    base_url: `http://127.0.0.1:${upstream.port}/v1`,
    api_key: 'sk-test-0123456789',
    formats: [name.slice('tiers-'.length)],
    multipliers: { service_tier: { flex: 0.5, ...(name.startsWith('tiers') ? { priority: 2 } : {}) } },
  });
  return JSON.stringify({
    providers: Object.fromEntries(names.map((name) => [name, provider(name)])),
    models: names.map((name) => ({
      id: name,
      targets: [{ provider: name, model: UPSTREAM_MODEL }],
      context_window: 200_000,
      max_output_tokens: 8_000,
      pricing: { input: 1, output: 4 },
    })),
    sandbox: false,
    limits: { drain: 1 },
  });
}

/** Answers at this tier; returns the tier that was sent upstream. */
async function sentTier(
  key: CreatedKey,
  client: Format,
  model: string,
  tier: string,
  served: string,
): Promise<unknown> {
  const target = model.slice('tiers-'.length) as Format;
  let sent: unknown;
  upstream.answer = (call) => {
    sent = call.body.service_tier;
    const whole = SPEECH[target].whole('Hi') as { readonly usage: object };
    const usage = target === 'messages' ? { ...whole.usage, service_tier: served } : whole.usage;
    call.reply(200, { ...whole, usage, ...(target === 'messages' ? {} : { service_tier: served }) });
  };
  const answer = await ask(key, client, { model, service_tier: tier });
  assert.equal(answer.status, 200, answer.text);
  return sent;
}

async function chargeOf(key: CreatedKey): Promise<number> {
  const { used } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
  return Math.round(used * 1e9);
}

describe('[R60] the service tier', () => {
  for (const client of FORMAT_NAMES) {
    test(`${client}: auto is sent as the plain service where it can mean a dearer one, and only there`, async () => {
      for (const target of FORMAT_NAMES) {
        const key = await gateway.creditKey();
        const pinned = target === 'messages' ? 'auto' : 'default';
        assert.equal(await sentTier(key, client, `tiers-${target}`, 'auto', 'standard'), pinned);
        assert.equal(await sentTier(key, client, `cheap-${target}`, 'auto', 'standard'), 'auto');
      }
    });

    test(`${client}: an answer at a tier that no price covers is charged as asked for, never below the plain price`, async () => {
      for (const [asked, factor] of [
        ['priority', 2],
        ['flex', 1],
        ['auto', 1],
      ] as const) {
        const key = await gateway.creditKey();
        const { flagged } = await gateway.audit();
        await sentTier(key, client, `tiers-${client}`, asked, 'ultrafast');
        assert.equal(await chargeOf(key), factor * PLAIN, asked);
        assert.equal((await gateway.audit()).flagged, flagged + 1, asked);
      }
    });
  }
});
