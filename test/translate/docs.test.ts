/**
 * The tables of docs/connect/translation.md, made by sending every field through the lanes.
 * `UPDATE_GOLDEN=1 node --test test/translate/docs.test.ts` writes them anew.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { pricingFromUsd } from '../../src/config/pricing.ts';
import { sandboxModels } from '../../src/config/sandbox.ts';
import { GatewayError } from '../../src/core/conditions.ts';
import { ENDPOINTS, type Format } from '../../src/core/endpoints.ts';
import { type KeyRecord, NEW_KEY } from '../../src/core/key.ts';
import type { Model } from '../../src/core/model.ts';
import type { Pricing } from '../../src/core/money.ts';
import { RUNS, STREAMS } from '../../src/core/policy.ts';
import { makePlan } from '../../src/exchange/make-plan.ts';
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts';
import { readCostFields } from '../../src/wire/cost-fields.ts';
import { FORMATS as WIRE_FORMATS } from '../../src/wire/formats.ts';
import { parseBody } from '../../src/wire/json/parse-request.ts';
import { provider, target } from '../unit/routing/fixtures.ts';
import type { FieldRow } from './fields/row.ts';
import { FIELDS } from './fields.ts';
import { FORMATS, lane, MINIMAL, upstreamBody } from './run-lane.ts';

const FILE = new URL('../../docs/connect/translation.md', import.meta.url);
const BEGIN = '<!-- made by test/translate/docs.test.ts -->';
const END = '<!-- end -->';
const PATHS_SHOWN_MAX = 3;

const [SANDBOX] = sandboxModels(1);
const ANY = provider('any');
const USD = { input: 1, output: 1 };
const TOKENS_ONLY = pricingFromUsd(USD, 1);
/** With a price for what else can have one. */
const EVERYTHING = pricingFromUsd(USD, 1, 1, {
  [ANY.name]: {
    multipliers: { service_tier: { flex: 0.5 }, speed: { fast: 2 } },
    hostedTools: { web_search: { usdPer1000Calls: 10, maxCalls: 3 } },
  },
});
const POLICY: Parameters<typeof makePlan>[0]['policy'] = {
  holds: 'full',
  elasticKeys: [],
  streams: STREAMS.read(),
  runs: RUNS.read(),
};
const KEY: KeyRecord = {
  ...{ ...NEW_KEY, id: 'k', version: 0, mode: 'credit', label: null, status: 'active', expiresAtMs: null },
  ...{ providerScope: 'all', models: null, outputLimit: null, addresses: null, inherited: [] },
  ...{ rpmLimit: null, tpmLimit: null, parallelLimit: null, budget: null, period: 'none' },
  ...{ createdAtMs: 0, prefix: '' },
};

/** What a client reads before the request is translated, of a model with these prices; null where it is translated. */
function refusedBefore(from: Format, to: Format, body: JsonObject, pricing: Pricing): string | null {
  // The gateway makes a response in the background itself.
  const { background: _, ...said } = body;
  try {
    const parsed = parseBody(Buffer.from(JSON.stringify(said)));
    const info = WIRE_FORMATS[from].validateRequest(parsed.body, parsed.bytes, { betas: true });
    const request = { ...parsed, info, costFields: readCostFields(parsed, null) };
    const model: Model = {
      ...(SANDBOX as Model),
      id: info.model,
      provider: ANY.name,
      targets: [target(ANY.name, { format: to })],
    };
    const catalog = {
      models: new Map([[model.id, { ...model, pricing }]]),
      withDefaults: null,
      providers: new Map([[ANY.name, ANY]]),
      pricesUntilMs: Number.POSITIVE_INFINITY,
    };
    const plan = makePlan(
      { catalog, policy: POLICY, speeds: { bound: () => null } },
      KEY,
      ENDPOINTS[from],
      request,
      null,
    );
    return plan instanceof GatewayError ? plan.message : null;
  } catch (error) {
    if (error instanceof GatewayError) return error.message;
    throw error;
  }
}

/** What becomes of a field on one way, in the words of the table. */
function fate(from: Format, to: Format, row: FieldRow): string {
  const body = { ...MINIMAL[from], ...row.probe };
  const unpriced = refusedBefore(from, to, body, TOKENS_ONLY);
  if (unpriced === null) return translated(from, to, row);
  const priced = refusedBefore(from, to, body, EVERYTHING);
  const carried = priced === null ? translated(from, to, row) : `refused: ${priced}`;
  return carried === `refused: ${unpriced}` ? carried : `refused: ${unpriced} With a price: ${carried}`;
}

function translated(from: Format, to: Format, row: FieldRow): string {
  const body = { ...MINIMAL[from], ...row.probe };
  try {
    const { warnings } = lane(from, to, body);
    const without = leaves(upstreamBody(from, to, { ...MINIMAL[from], ...row.base }));
    const paths = changed(without, leaves(upstreamBody(from, to, body)));
    if (paths.length > 0) return [told(row, paths), ...warnings].join('; ');
    if (row.kept !== undefined) return `kept: ${row.kept}`;
    const why = warnings.length > 0 ? warnings.join('; ') : row.why;
    assert.ok(why, `${from} → ${to}: ${row.field} is lost without a word`);
    return `dropped: ${why}`;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    assert.equal(error.condition, 'invalid_request');
    return `refused: ${error.message}`;
  }
}

function told({ field, probe }: FieldRow, paths: readonly string[]): string {
  const [path] = paths;
  const same = path === field.split(' ')[0] || (path?.startsWith(`${field}.`) === true && leaves(probe).has(path));
  if (paths.length === 1 && same) return 'carried';
  const shown = paths.slice(0, PATHS_SHOWN_MAX).map((path) => `\`${path}\``);
  return `→ ${shown.join(', ')}${paths.length > PATHS_SHOWN_MAX ? ', …' : ''}`;
}

function leaves(value: Json, path = '', into = new Map<string, string>()): Map<string, string> {
  if (Array.isArray(value)) {
    for (const [index, member] of value.entries()) leaves(member as Json, `${path}[${index}]`, into);
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value))
      leaves(member ?? null, path === '' ? name : `${path}.${name}`, into);
  } else into.set(path, JSON.stringify(value));
  return into;
}

/** The paths that the field brought or changed, without positions in lists. */
function changed(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  const paths = [...after].filter(([path, value]) => before.get(path) !== value).map(([path]) => path);
  const places = [...new Set(paths.map((path) => path.replace(/\[\d+\]/g, '[]')))];
  // Neighbours are told by what holds them.
  const told = places.map((path) => {
    const holder = path.slice(0, Math.max(path.lastIndexOf('.'), 0));
    return holder !== '' && places.some((other) => other !== path && other.startsWith(`${holder}.`)) ? holder : path;
  });
  return [...new Set(told)].filter(
    (path, _index, all) => !all.some((other) => other !== path && path.startsWith(`${other}.`)),
  );
}

function table(from: Format): string {
  const targets = FORMATS.filter((to) => to !== from);
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const rows = FIELDS[from].map((row) => [row.field, ...targets.map((to) => fate(from, to, row))]);
  const lines = [
    [`\`${from}\` request`, ...targets.map((to) => `to a \`${to}\` target`)],
    ['---', '---', '---'],
    ...rows,
  ];
  return lines.map((line) => `| ${line.map(cell).join(' | ')} |`).join('\n');
}

const FINISHES: Readonly<Record<Format, (reason: string) => object>> = {
  chat: (finish_reason) => ({
    id: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason }],
  }),
  messages: (stop_reason) => ({ id: 'x', content: [{ type: 'text', text: 'x' }], stop_reason }),
  responses: (reason) => {
    const output = [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }];
    if (reason === 'completed') return { id: 'x', status: reason, output };
    return { id: 'x', status: 'incomplete', incomplete_details: { reason }, output };
  },
};
const REASONS: Readonly<Record<Format, readonly string[]>> = {
  chat: ['stop', 'length', 'tool_calls', 'content_filter'],
  responses: ['completed', 'max_output_tokens', 'content_filter'],
  messages: [
    'end_turn',
    'stop_sequence',
    'max_tokens',
    'model_context_window_exceeded',
    'tool_use',
    'refusal',
    'pause_turn',
  ],
};

function reasonIn(body: JsonObject): string {
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  if (isObject(choice)) return String(choice.finish_reason);
  if (body.stop_reason !== undefined) return String(body.stop_reason);
  const details = isObject(body.incomplete_details) ? ` (${String(body.incomplete_details.reason)})` : '';
  return `${String(body.status)}${details}`;
}

function finishTable(): string {
  const lines = [
    '| The provider says | A chat client reads | A responses client reads | A messages client reads |',
    '| --- | --- | --- | --- |',
  ];
  for (const to of FORMATS) {
    for (const reason of REASONS[to]) {
      const cells = FORMATS.map((from) => {
        const answer = Buffer.from(JSON.stringify(FINISHES[to](reason)));
        return `\`${reasonIn(JSON.parse(lane(from, to, MINIMAL[from]).whole(answer).body.toString()))}\``;
      });
      lines.push(`| ${to}: \`${reason}\` | ${cells.join(' | ')} |`);
    }
  }
  return lines.join('\n');
}

test('[R43] docs/connect/translation.md says what becomes of every field, and it is true', () => {
  const made = [...FORMATS.map(table), '## How an answer ends', finishTable()].join('\n\n');
  const text = readFileSync(FILE, 'utf8');
  const start = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  assert.ok(start > 0 && end > start);
  const renewed = `${text.slice(0, start)}${BEGIN}\n\n${made}\n\n${text.slice(end)}`;
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(FILE, renewed);
  assert.equal(renewed, readFileSync(FILE, 'utf8'));
});

test('[R43] no field is lost without a word: carried, or a reason, or a refusal', () => {
  for (const from of FORMATS) {
    for (const to of FORMATS.filter((other) => other !== from)) {
      for (const row of FIELDS[from]) assert.notEqual(fate(from, to, row), '');
    }
  }
});
