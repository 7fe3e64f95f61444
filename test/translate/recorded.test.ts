/**
 * What real clients send, recorded by `node e2e/record.ts` with filler for its texts: every request is valid, every lane
 * carries it, and nothing that the user or the tools say is lost on the way. recorded/ holds what becomes of each, so that
 * a diff shows what a new version of a client, or of a converter, changes. `UPDATE_GOLDEN=1` writes it anew.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/conditions.ts';
import { ENDPOINTS, type Format } from '../../src/core/endpoints.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { FORMATS as WIRE_FORMATS } from '../../src/wire/formats.ts';
import { omitNulls } from '../../src/wire/json/omit-nulls.ts';
import { parseBody } from '../../src/wire/json/parse-request.ts';
import type { LaneWithWarnings } from '../../src/wire/lane.ts';
import { FORMATS, lane, OUTPUT_LIMIT } from './run-lane.ts';

const TRAFFIC = new URL('../fixtures/traffic/', import.meta.url);
const FOLDER = new URL('recorded/', import.meta.url);

interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject | null;
}

function formatOf({ method, path }: Recorded): Format | null {
  const [route] = path.split('?');
  const found = Object.values(ENDPOINTS).find((endpoint) => endpoint.path === route && endpoint.method === method);
  return found?.format ?? null;
}

const clients = readdirSync(TRAFFIC).map((file) => file.replace(/\.json$/, ''));

for (const client of clients) {
  const text = readFileSync(new URL(`${client}.json`, TRAFFIC), 'utf8');
  const requests: readonly Recorded[] = JSON.parse(text);

  describe(`the recorded requests of ${client}`, () => {
    test('hold no secret and no address but this machine', () => {
      assert.doesNotMatch(text, /mg_[ct]_(?!recorded)|sk-[\w-]{10}|eyJ[\w-]{20}/);
      const addresses = text.match(/https?:\/\/[\w.:-]+/g) ?? [];
      assert.deepEqual(
        addresses.filter((address) => !/json-schema\.org|127\.0\.0\.1/.test(address)),
        [],
      );
    });

    test('[R43] are valid and carried to every target as recorded', () => {
      const file = new URL(`${client}.txt`, FOLDER);
      const written = requests.map(described).join('\n');
      if (process.env.UPDATE_GOLDEN === '1') {
        mkdirSync(FOLDER, { recursive: true });
        writeFileSync(file, written);
      }
      assert.equal(written, readFileSync(file, 'utf8'));
    });
  });
}

test('every golden of recorded requests belongs to a client', () => {
  assert.deepEqual(readdirSync(FOLDER).sort(), clients.map((client) => `${client}.txt`).sort());
});

function described(request: Recorded): string {
  const lines = [
    `===== ${request.method} ${request.path}`,
    `headers: ${Object.keys(request.headers).sort().join(', ')}`,
  ];
  const format = formatOf(request);
  if (format === null || request.body === null) return `${lines.join('\n')}\n`;
  // Read as the gateway reads it.
  const parsed = parseBody(Buffer.from(JSON.stringify(request.body)));
  const { body, bytes } = omitNulls(parsed, WIRE_FORMATS[format].optionalFields);
  const betas = request.headers['anthropic-beta'] !== undefined;
  const info = WIRE_FORMATS[format].validateRequest(body, bytes, { betas, references: true });
  const { choices, stream, outputLimit, needs, hostedTools, reasoning } = info;
  const needed = Object.keys(needs).join(', ') || 'nothing';
  lines.push(`sends: ${sizes(body)}`);
  lines.push(
    `is: ${stream ? 'streamed' : 'whole'}, ${choices} answer, limit ${outputLimit ?? 'unsaid'}, reasoning ${reasoning}`,
  );
  lines.push(`needs: ${needed}; hosted tools: ${hostedTools.map(({ type }) => type).join(', ') || 'none'}`);
  for (const to of FORMATS.filter((one) => one !== format)) {
    const running = laneOrRefusal(format, to, body);
    if (running instanceof GatewayError) {
      lines.push(`to ${to}: ${running.condition} at ${running.param}: ${running.message}`);
      continue;
    }
    const sent = JSON.parse(
      running.requestBody({ upstreamModel: 'upstream', outputLimit: OUTPUT_LIMIT }).toString(),
    ) as JsonObject;
    assertNothingLost(body, sent);
    lines.push(`to ${to}: ${sizes(sent)}`, ...running.warnings.map((warning) => `  ${warning}`));
  }
  return `${lines.join('\n')}\n`;
}

/** What refers to the gateway's own state is put in before a lane is made; alone it is refused. */
function laneOrRefusal(from: Format, to: Format, body: JsonObject): LaneWithWarnings | GatewayError {
  try {
    return lane(from, to, body);
  } catch (error) {
    const refers = body.previous_response_id !== undefined || JSON.stringify(body).includes('item_reference');
    if (error instanceof GatewayError && refers) return error;
    throw error;
  }
}

/** The members, and how many entries those have that are lists. */
function sizes(body: JsonObject): string {
  return Object.entries(body)
    .map(([name, value]) => (Array.isArray(value) ? `${name}[${value.length}]` : name))
    .join(', ');
}

/** The members that hold what the user, the model and the tools say. */
const SAID = new Set(['text', 'content', 'description', 'instructions', 'system', 'input', 'output', 'arguments']);

/** Every longer text of the conversation and of the tools' descriptions arrives. */
function assertNothingLost(body: JsonObject, sent: JsonObject): void {
  const arrived = textsOf(sent).join('\n');
  for (const text of textsOf(body)) {
    // Arguments are an object in one format and a text in the others.
    if (text.length < 24 || text.startsWith('{')) continue;
    assert.ok(arrived.includes(text), `lost: ${text.slice(0, 200)}`);
  }
}

function textsOf(value: unknown, name = ''): string[] {
  if (typeof value === 'string') {
    // The free text of a custom tool is one of the arguments where a format knows functions only.
    const inner = name === 'arguments' && value.startsWith('{') ? textsOf(JSON.parse(value)) : [];
    return SAID.has(name) ? [value, ...inner] : [];
  }
  if (Array.isArray(value)) return value.flatMap((inner) => textsOf(inner, name));
  if (typeof value !== 'object' || value === null || ('type' in value && value.type === 'reasoning')) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsOf(inner, key));
}
