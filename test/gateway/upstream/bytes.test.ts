/** What a provider sends is what the client gets, when it is sent, wherever it is cut. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ask, type ScriptedGateway, scriptedGateway, settled, streamed } from '../../support/scripted-gateway.ts';
import {
  FORMAT_NAMES,
  INPUT_TOKENS,
  OUTPUT_TOKENS,
  SPEECH,
  spoken,
  UPSTREAM_MODEL,
} from '../../support/upstreams/spoken.ts';

let fixture: ScriptedGateway;

before(async () => {
  // A hold that grows lets an event pass when it is whole; here they pass as they come.
  fixture = await scriptedGateway({ settings: { holds: 'full' } });
});

after(() => fixture[Symbol.asyncDispose]());

function published(stream: string): string {
  return Buffer.from(stream.replaceAll(`"model":"${UPSTREAM_MODEL}"`, '"model":"tested"')).toString('latin1');
}

describe('pacing', () => {
  for (const format of FORMAT_NAMES) {
    test(`each frame reaches the client before the provider has sent the next (${format})`, async () => {
      const key = await fixture.gateway.tokenKey();
      const client = streamed(key, format, { store: false, stream_options: { include_usage: true } });
      const call = await fixture.first.next();
      call.streamHead();
      for (const frame of SPEECH[format].opening) call.chunk(frame);
      for (let n = 0; n < 20; n++) {
        // The provider goes on only when the client has this one in hand: a gateway that batches would wait for ever.
        call.chunk(SPEECH[format].text(`<${n}>`));
        await client.until(new RegExp(`<${n}>`));
      }
      for (const frame of SPEECH[format].closing) call.chunk(frame);
      call.finish();
      assert.match((await client.ended).text, SPEECH[format].terminal);
      assert.equal((await settled(fixture.gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS);
    });
  }

  test('[R51] only the terminal frame waits, and not for the end of the provider’s body', async () => {
    const key = await fixture.gateway.tokenKey();
    const client = streamed(key, 'messages');
    const call = await fixture.first.next();
    call.streamHead();
    call.chunk(spoken('messages', 'Hi').join(''));
    const { text } = await client.ended;
    assert.match(text, SPEECH.messages.terminal);
    call.finish();
    await settled(fixture.gateway, key);
  });
});

describe('bytes', () => {
  const strange = 'Größe 世界 😀 "quoted" \\ model: "model":"x"\u2028';
  for (const format of FORMAT_NAMES) {
    const frames = spoken(format, strange);
    const wholes: Readonly<Record<string, string>> = {
      'as it is': frames.join(''),
      'with CRLF': frames.join('').replaceAll('\n', '\r\n'),
      'with CR alone': frames.join('').replaceAll('\n', '\r'),
      'with comments': `: hello\n\n${frames.join('').replace(/\n\n/, '\n\n: hello again\n\n')}`,
    };
    for (const [how, stream] of Object.entries(wholes)) {
      test(`[F19] ${how}, cut everywhere: unchanged but for the model, usage right (${format})`, async () => {
        const key = await fixture.gateway.tokenKey();
        const bytes = Buffer.from(stream);
        const expected = published(stream);
        const rounds = 7;
        for (let round = 0; round < rounds; round++) {
          const client = streamed(key, format, { store: false, stream_options: { include_usage: true } });
          const call = await fixture.first.next();
          call.streamHead();
          // Pieces of 1 to 7 bytes cut characters, line ends and field names at every place.
          for (let at = 0; at < bytes.length; ) {
            const length = 1 + ((at * 31 + round) % 7);
            call.chunk(bytes.subarray(at, at + length));
            at += length;
          }
          call.finish();
          const { text } = await client.ended;
          // A carriage return at the very end cannot be told from half a line end, and is completed.
          assert.equal(how === 'with CR alone' ? text.replace(/\r\n$/, '\r') : text, expected);
        }
        assert.equal((await settled(fixture.gateway, key)).used, rounds * (INPUT_TOKENS + OUTPUT_TOKENS));
      });
    }

    test(`[F19] one giant line passes, in bounded pieces and unchanged (${format})`, async () => {
      const key = await fixture.gateway.tokenKey();
      const giant = 'ö'.repeat(1_000_000);
      const client = streamed(key, format, { store: false, stream_options: { include_usage: true } });
      const call = await fixture.first.next();
      call.streamHead();
      const [before, behind] = [SPEECH[format].opening.join(''), SPEECH[format].closing.join('')];
      const line = Buffer.from(SPEECH[format].text(giant));
      call.chunk(before);
      call.chunk(line.subarray(0, 1_000_001));
      // Half of it is with the client before the other half is sent.
      await client.until((text) => text.length > 900_000);
      call.chunk(line.subarray(1_000_001));
      call.chunk(behind);
      call.finish();
      const { text } = await client.ended;
      assert.ok(text === published(before + line.toString() + behind), 'unchanged');
      assert.equal((await settled(fixture.gateway, key)).used, INPUT_TOKENS + OUTPUT_TOKENS);
    });
  }

  test('a whole answer is the provider’s, byte for byte, but for the model', async () => {
    const key = await fixture.gateway.tokenKey();
    for (const format of FORMAT_NAMES) {
      const body = `  ${JSON.stringify(SPEECH[format].whole(strange), null, 3).replace('"created": 1,', '"created":1.0e0 ,')}\n`;
      const answer = ask(key, format, { store: false });
      (await fixture.first.next()).reply(200, body);
      const { text } = await answer;
      assert.equal(text, Buffer.from(body.replace(`"${UPSTREAM_MODEL}"`, '"tested"')).toString('latin1'));
    }
    await settled(fixture.gateway, key);
  });
});
