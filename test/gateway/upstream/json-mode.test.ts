/** JSON mode at a target that has none, answered in prose: the client is told, pays what was reported, and nobody else suffers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ask, errorOf, scriptedGateway, settled } from '../../support/scripted-gateway.ts';
import { INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, spoken } from '../../support/upstreams/spoken.ts';

const PROSE = 'I would rather answer in prose.';
const ASKED = {
  chat: { response_format: { type: 'json_object' } },
  responses: { text: { format: { type: 'json_object' } } },
} as const;

describe('a JSON object that a messages target does not give', () => {
  for (const format of ['chat', 'responses'] as const) {
    for (const stream of [false, true]) {
      test(`[R66] costs its own key alone, and closes the target to nobody (${format}, ${stream ? 'streamed' : 'whole'})`, async () => {
        await using fixture = await scriptedGateway({
          servers: 2,
          provider: { formats: ['messages'] },
          routing: { max_attempts: 3 },
        });
        fixture.first.answer = (call) => {
          if (stream) call.stream(spoken('messages', PROSE));
          else call.reply(200, SPEECH.messages.whole(PROSE));
        };
        // More keys than it takes to open a circuit.
        for (let n = 0; n < 6; n++) {
          const key = await fixture.gateway.tokenKey();
          const answer = await ask(key, format, { stream, ...ASKED[format] });
          if (stream) {
            assert.match(answer.text, SPEECH[format].inBandFailure);
            assert.match(answer.text, /asked for a JSON object.*is billed/);
            assert.doesNotMatch(answer.text, SPEECH[format].terminal);
          } else {
            const { status, code, message } = errorOf(answer);
            assert.deepEqual([status, code], [502, 'upstream_error']);
            assert.match(message, /asked for a JSON object.*is billed/);
            assert.equal(answer.headers['x-should-retry'], 'false');
          }
          const { used, requests } = await settled(fixture.gateway, key);
          assert.deepEqual([used, requests], [INPUT_TOKENS + OUTPUT_TOKENS, 1]);
        }
        assert.deepEqual([fixture.first.calls, fixture.second.calls], [6, 0]);
        const other = await ask(await fixture.gateway.tokenKey(), format, { stream });
        assert.equal(other.status, 200);
        assert.equal(fixture.first.calls, 7);
      });
    }
  }
});
