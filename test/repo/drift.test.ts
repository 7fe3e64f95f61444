/** docs/connect/sdk-names.md has a decision about every name of the installed SDKs, and the gateway follows it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import type { Format } from '../../src/core/endpoints.ts';
import type { Json } from '../../src/lib/json.ts';
import { readCostFields } from '../../src/wire/cost-fields.ts';
import type { RequestInfo } from '../../src/wire/format.ts';
import { FORMATS } from '../../src/wire/formats.ts';
import { parseBody } from '../../src/wire/json/parse-request.ts';
import { compare, type Decision, readDecisions } from '../../tools/drift/decisions.ts';
import { KINDS, type Kind, surfaceOf } from '../../tools/drift/surface.ts';
import { MINIMAL } from '../translate/run-lane.ts';

const SDKS = ['openai', '@anthropic-ai/sdk', '@google/genai'];
const decided = readDecisions();

function named(api: string, kind: Kind, ...decisions: Decision[]): string[] {
  return decided
    .filter((entry) => entry.api === api && entry.kind === kind && decisions.includes(entry.decision))
    .map(({ name }) => name);
}

/** As the gateway reads a request. */
function read(format: Format, more: Record<string, Json>): RequestInfo {
  const parsed = parseBody(Buffer.from(JSON.stringify({ ...MINIMAL[format], ...more })));
  readCostFields(parsed, null);
  return FORMATS[format].validateRequest(parsed.body, parsed.bytes, { betas: true });
}

/** Values of refused fields that ask for something. */
const ASKING: Readonly<Record<string, Json>> = {
  access_programs: { cyber: 'daybreak_red' },
  background: true,
  container: { skills: [] },
  conversation: 'conv_1',
  fallback_credit_token: 'token',
  fallbacks: [{ model: 'other' }],
  multi_agent: { enabled: true },
  prompt: { id: 'pmpt_1' },
  thread: { type: 'start' },
  workspace_id: 'wrkspc_1',
};

/** `betas` is a header of the protocol, and only an argument of the SDK; the last three belong to a message of a WebSocket. */
const REQUIRED = ['model', 'messages', 'input', 'betas', 'type', 'generate', 'stream_id'];

describe('names of the SDKs', () => {
  for (const name of SDKS) {
    test(`every name of ${name}, as installed, has a decision (npm run drift)`, () => {
      assert.deepEqual(compare(surfaceOf(name, `node_modules/${name}`), decided), { undecided: [], gone: [] });
    });

    test(`the page says which version of ${name} it was made from`, () => {
      const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'));
      assert.ok(readFileSync('docs/connect/sdk-names.md', 'utf8').includes(`\`${name}\` ${version}`));
    });
  }

  test('what is carried to Gemini, or priced, is known to the package that the gateway asks it through', () => {
    const code = readFileSync('node_modules/@ai-sdk/google/dist/index.js', 'utf8');
    const names = KINDS.flatMap((kind) => named('gemini', kind, 'carried', 'priced'));
    assert.ok(names.length > 20);
    assert.deepEqual(
      names.filter((name) => !new RegExp(`\\b${name}\\b`).test(code)),
      [],
    );
  });

  for (const format of ['chat', 'responses', 'messages'] as const) {
    for (const name of named(format, 'field', 'refused').filter((path) => !path.includes('.'))) {
      test(`[R60] ${format}: ${name} is refused by its name, and null is nothing`, () => {
        assert.ok(name in ASKING, `no value of ${name} to ask with`);
        assert.throws(
          () => read(format, { [name]: ASKING[name] ?? null }),
          (error) => error instanceof GatewayError && error.param === name,
        );
        assert.doesNotThrow(() => readCostFields(parseBody(Buffer.from(JSON.stringify({ [name]: null }))), null));
      });
    }

    test(`[R62] ${format}: every optional field of the SDK may be null`, () => {
      const optional = new Set([...FORMATS[format].optionalFields.optional, ...REQUIRED]);
      const fields = named(format, 'field', 'carried', 'priced', 'refused').filter((name) => !name.includes('.'));
      assert.deepEqual(
        fields.filter((name) => !optional.has(name)),
        [],
      );
    });

    test(`[R60] ${format}: a tool is priced where the provider runs it, and only there`, () => {
      const hosted = (type: string): boolean => read(format, { tools: [toolOf(format, type)] }).hostedTools.length > 0;
      assert.deepEqual(
        named(format, 'tool', 'priced').filter((type) => !hosted(type)),
        [],
      );
      assert.deepEqual(named(format, 'tool', 'carried').filter(hosted), []);
    });
  }
});

function toolOf(format: Format, type: string): Json {
  const schema = { type: 'object', properties: {} };
  if (format === 'chat') return { type, [type]: { name: 'one', parameters: schema } };
  if (format === 'responses') return { type, name: 'one', parameters: schema, tools: [] };
  return { type, name: 'one', input_schema: schema };
}
