/** The tier that an answer was served at, where the request left it open or the provider chose another. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { accountWhen } from '../../support/requests.ts';
import { ask, withScene } from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';

/** 21 tokens of input and 8 of output, at 1 and 4 USD per million. */
const PLAIN = 53_000;

const NAMES = FORMAT_NAMES.flatMap((format) => [`tiers-${format}`, `cheap-${format}`]);
/** Providers `tiers-FORMAT` have a tier that costs more, providers `cheap-FORMAT` have none. */
const { gateway, upstream } = await withScene({
  providers: Object.fromEntries(
    NAMES.map((name) => [
      name,
      {
        formats: [name.slice('tiers-'.length)],
        multipliers: { service_tier: { flex: 0.5, ...(name.startsWith('tiers') ? { priority: 2 } : {}) } },
      },
    ]),
  ),
  models: NAMES.map((name) => ({ id: name, provider: name })),
});

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
