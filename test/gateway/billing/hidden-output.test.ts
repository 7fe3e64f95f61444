/** Output that cannot be seen: held by the time that a model can have produced it in, and charged by time where nobody reports it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { assertCut, type CutGateway, cutGateway, elasticRequest, FIRST_TOKENS } from '../../support/cut-gateway.ts';
import { ClientStream, settled } from '../../support/scripted-gateway.ts';
import type { StartedGateway } from '../../support/started-gateway.ts';
import type { ScriptedCall } from '../../support/upstreams/scripted.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, spoken, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const OUTPUT_LIMIT = 8_000;
const THINKING = { thinking: { type: 'adaptive' } };
const BODY = elasticRequest('messages', UPSTREAM_MODEL, THINKING);
const INPUT_HIGH = Buffer.byteLength(JSON.stringify(BODY)) + 32;
/** Ahead of what can have been produced, the hold covers four seconds. */
const AHEAD_S = 4;

const STREAMS = { streams: { hold_wait: 0.2, keep_alive: 0.1 } };
const timed = await cutGateway(STREAMS, { visible_output: undefined, output_speed: 200 });
const learning = await cutGateway(STREAMS, { visible_output: undefined });
after(async () => {
  await timed[Symbol.asyncDispose]();
  await learning[Symbol.asyncDispose]();
});

interface Running {
  readonly client: ClientStream;
  readonly call: ScriptedCall;
}

/** A stream whose model thinks and shows nothing. */
async function thinking({ provider }: CutGateway, key: CreatedKey): Promise<Running> {
  const client = new ClientStream(key, 'messages', BODY).read();
  const call = await Promise.race([provider.next(), client.ended.then(({ text }) => assert.fail(text))]);
  call.streamHead();
  call.chunk(SPEECH.messages.opening.join(''));
  await client.until(/message_start/);
  return { client, call };
}

async function heldFor(gateway: StartedGateway, key: CreatedKey): Promise<number> {
  return (await gateway.admin.showKey(key.id)).reserved - INPUT_HIGH;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('[R13] with output_speed', () => {
  const { gateway } = timed;

  test('a stream that may hide its output holds a slice and what the model can produce in the next seconds', async () => {
    const key = await gateway.tokenKey();
    const { client, call } = await thinking(timed, key);
    const held = await heldFor(gateway, key);
    assert.ok(held >= FIRST_TOKENS + 200 * AHEAD_S && held < OUTPUT_LIMIT, `holds ${held}`);
    // It grows though nothing is seen.
    await until(async () => (await heldFor(gateway, key)) > held);
    assert.ok((await heldFor(gateway, key)) <= OUTPUT_LIMIT);
    call.chunk([SPEECH.messages.text('Hi'), ...SPEECH.messages.closing].join(''));
    call.finish();
    assert.match((await client.ended).text, SPEECH.messages.terminal);
    assert.equal((await settled(gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS);
  });

  test('where the balance cannot carry more, it ends as at the length limit, and the charge is within the balance', async () => {
    const budget = INPUT_HIGH + FIRST_TOKENS + 200 * AHEAD_S;
    const key = await gateway.tokenKey({ budget: String(budget) });
    const { client, call } = await thinking(timed, key);
    const seen = (await client.ended).text;
    assertCut('messages', seen);
    await call.closed;
    const { used } = await settled(gateway, key);
    assert.ok(used > 0 && used <= budget, `charged ${used} of ${budget}`);
  });

  test('[R49] a client that goes away pays for the time that the model has thought', async () => {
    const key = await gateway.tokenKey();
    const flagged = (await gateway.audit()).flagged;
    const startedAt = performance.now();
    const { client, call } = await thinking(timed, key);
    await client.until((seen) => (seen.match(/event: ping/g) ?? []).length >= 5);
    client.close();
    await call.closed;
    const { used, requests } = await settled(gateway, key);
    const most = ((performance.now() - startedAt) / 1_000) * 200;
    assert.equal(requests, 0);
    // Half the speed of the fastest stream for half a second at least; never more than the whole of it.
    assert.ok(used >= INPUT_TOKENS + 40 && used <= INPUT_HIGH + most, `charged ${used}`);
    assert.equal((await gateway.audit()).flagged, flagged + 1);
  });
});

describe('[R13] without output_speed', () => {
  const { gateway, provider } = learning;

  test('the worst case is held until fifty streams have shown how fast the target is; a faster one counts at once', async () => {
    const key = await gateway.tokenKey();
    for (let stream = 0; stream < 50; stream++) {
      const client = new ClientStream(key, 'messages', BODY).read();
      const call = await provider.next();
      if (stream === 0 || stream === 49) assert.equal(await heldFor(gateway, key), OUTPUT_LIMIT);
      call.stream(spoken('messages', 'Hi'));
      await client.ended;
    }
    const { client, call } = await thinking(learning, key);
    const held = await heldFor(gateway, key);
    assert.ok(held >= FIRST_TOKENS && held < OUTPUT_LIMIT, `holds ${held}`);
    call.chunk([SPEECH.messages.text('Hi'), ...SPEECH.messages.closing].join(''));
    call.finish();
    await client.ended;
    await settled(gateway, key);

    const faster = await thinking(learning, key);
    const frames = [SPEECH.messages.text('Hi'), ...SPEECH.messages.closing].join('');
    faster.call.chunk(frames.replaceAll(`"output_tokens":${OUTPUT_TOKENS}`, '"output_tokens":8000'));
    faster.call.finish();
    await faster.client.ended;
    const next = await thinking(learning, key);
    assert.equal(await heldFor(gateway, key), OUTPUT_LIMIT);
    next.call.chunk([SPEECH.messages.text('Hi'), ...SPEECH.messages.closing].join(''));
    next.call.finish();
    await next.client.ended;
    await settled(gateway, key);
  });
});
