/** Parts that the gateway does not know may count for any number of tokens: they are held for, and charged as reported. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, visit } from '../../support/requests.ts';
import { ask, scriptedGateway, settled, streamed } from '../../support/scripted-gateway.ts';
import { SPEECH, spoken } from '../../support/upstreams/spoken.ts';

const VIDEO = { type: 'video_url', video_url: { url: 'https://example.com/x.mp4' } };
const MESSAGES = { messages: [{ role: 'user', content: [VIDEO] }] };
const REPORTED = { prompt_tokens: 150_000, completion_tokens: 5, total_tokens: 150_005 };

describe('[R60] [R86] a part of an unknown type', () => {
  for (const mode of ['credit', 'token_budget'] as const) {
    test(`${mode}: costs what the provider reports, whole and streamed`, async () => {
      await using fixture = await scriptedGateway();
      const { gateway, first } = fixture;
      const key = mode === 'credit' ? await gateway.creditKey() : await gateway.tokenKey();
      const price = mode === 'credit' ? 0.15002 : 150_005;
      const whole = ask(key, 'chat', MESSAGES);
      (await first.next()).reply(200, { ...SPEECH.chat.whole('Hi'), usage: REPORTED });
      assert.match((await whole).text, /"prompt_tokens":150000/);
      assert.equal((await settled(gateway, key)).used, price);
      const stream = streamed(key, 'chat', { ...MESSAGES, stream_options: { include_usage: true } });
      const frames = spoken('chat', 'Hi').map((frame) =>
        frame.replace(/"usage":\{.*?\}/, `"usage":${JSON.stringify(REPORTED)}`),
      );
      (await first.next()).stream(frames);
      assert.match((await stream.ended).text, /"prompt_tokens":150000/);
      assert.equal((await settled(gateway, key)).used, 2 * price);
      assert.equal((await gateway.audit()).flagged, 0);
    });
  }

  test('that holds an image is refused by a model that takes none', async () => {
    await using fixture = await scriptedGateway({ model: { capabilities: { images: false } } });
    const key = await fixture.gateway.creditKey();
    const messages = [{ role: 'user', content: [{ image_url: { url: 'https://example.com/x.png' } }] }];
    const refused = visit(key, 'chat', { body: { model: 'tested', messages } });
    assert.equal((await refusal(refused, 'chat', 400, 'invalid_request')).param, 'messages[0].content[0]');
  });
});
