/** Usage that cannot be: counted here, flagged, and what was counted is what the client sees and is charged for. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PROSE } from '../../../bench/counter-samples.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { isObject, type Json, type JsonObject } from '../../../src/lib/json.ts';
import { events } from '../../support/requests.ts';
import { ask, type ScriptedGateway, scriptedGateway, settled } from '../../support/scripted-gateway.ts';
import { FORMAT_NAMES, INPUT_TOKENS, OUTPUT_TOKENS, SPEECH, spoken } from '../../support/upstreams/spoken.ts';

/** What is reported as input and as output. */
const REPORTS: Readonly<Record<string, readonly [input: string, output: string]>> = {
  'a negative input': ['-21', '8'],
  'a negative output': ['21', '-8'],
  'a fraction': ['21', '8.5'],
  '2^53': ['21', '9007199254740992'],
  'no output beside content': ['21', '0'],
  'no input': ['0', '8'],
  'more than the request can take': ['21', '700000'],
};

const TEXT = PROSE.English.slice(0, 400);

function reporting(json: string, [input, output]: readonly [string, string]): string {
  return json
    .replace(new RegExp(`("(?:prompt|input)_tokens":)${INPUT_TOKENS}`), `$1${input}`)
    .replace(new RegExp(`("(?:completion|output)_tokens":)${OUTPUT_TOKENS}`), `$1${output}`);
}

interface Shown {
  readonly input: number;
  readonly output: number;
}

/** The figures of every usage that the answer shows, in their order. */
function shownUsage(value: Json): readonly Shown[] {
  if (Array.isArray(value)) return value.flatMap(shownUsage);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (name === 'usage' && isObject(member)) return [figuresOf(member)];
    return member === undefined ? [] : shownUsage(member);
  });
}

function figuresOf(usage: JsonObject): Shown {
  const [input, output] = [usage.prompt_tokens ?? usage.input_tokens, usage.completion_tokens ?? usage.output_tokens];
  assert.ok(Number.isSafeInteger(input) && Number.isSafeInteger(output), JSON.stringify(usage));
  const cached = Number(usage.cache_read_input_tokens ?? 0) + Number(usage.cache_creation_input_tokens ?? 0);
  return { input: Number(input) + cached, output: Number(output) };
}

for (const target of FORMAT_NAMES) {
  describe(`a provider of ${target}`, () => {
    let fixture: ScriptedGateway;
    before(async () => {
      fixture = await scriptedGateway({ provider: { formats: [target] } });
    });
    after(() => fixture[Symbol.asyncDispose]());

    async function answered(client: Format, stream: boolean, report: readonly [string, string]): Promise<void> {
      const key = await fixture.gateway.tokenKey();
      const { flagged } = await fixture.gateway.audit();
      const usage = client === 'chat' && stream ? { stream_options: { include_usage: true } } : {};
      const answer = ask(key, client, { stream, ...usage });
      const call = await fixture.first.next();
      if (stream) call.stream(spoken(target, TEXT).map((frame) => reporting(frame, report)));
      else call.reply(200, reporting(JSON.stringify(SPEECH[target].whole(TEXT)), report));
      const { status, text } = await answer;
      assert.equal(status, 200, text);
      const shown = shownUsage(stream ? (events(text) as Json[]) : JSON.parse(text));
      for (const { input, output } of shown) assert.ok(input >= 0 && output >= 0, JSON.stringify(shown));
      const last = shown.at(-1) ?? { input: 0, output: 0 };
      const { used, output_tokens, requests } = await settled(fixture.gateway, key);
      assert.deepEqual([requests, last.output, last.input + last.output], [1, output_tokens, used]);
      assert.ok(last.output >= 70 && last.output <= 110, `${last.output} tokens for 400 characters`);
      assert.ok(last.input > 0 && last.input < 100, `${last.input} tokens of input`);
      assert.equal((await fixture.gateway.audit()).flagged, flagged + 1);
    }

    for (const client of FORMAT_NAMES) {
      for (const stream of [false, true]) {
        for (const [what, report] of Object.entries(REPORTS)) {
          test(`[R86] ${what}: the ${client} client sees what was counted (${stream ? 'streamed' : 'whole'})`, () =>
            answered(client, stream, report));
        }
      }
    }
  });
}
