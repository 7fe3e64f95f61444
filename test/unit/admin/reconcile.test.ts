/** A provider's exports against the usage records: what differs, by day and model. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { AdminError } from '../../../src/admin/error.ts';
import { findCommand, readArguments } from '../../../src/cli/arguments.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import type { TokenCounts } from '../../../src/core/usage.ts';
import { parseCsv } from '../../../src/import/csv-file.ts';
import { reconcile } from '../../../src/import/reconcile.ts';
import type { TestAdmin } from '../../support/admin-client.ts';
import { adminFixture } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const OPENAI =
  'start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,api_key_id,model,batch,service_tier,input_tokens,output_tokens,input_cached_tokens';
const ANTHROPIC =
  'usage_date_utc,model_version,api_key,workspace,usage_type,context_window,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens,web_search_count,inference_geo';

/** A gateway that has called the model of a provider with so many tokens, on 15 January 2026 unless it is another time. */
async function used(
  t: TestContext,
  provider: string,
  calls: readonly (readonly [string, Partial<TokenCounts>, bigint])[],
  atMs?: number,
) {
  const fixture = adminFixture(t);
  const { service, ledger, clock } = fixture;
  clock.atMs = atMs ?? clock.atMs;
  const { id: keyId } = await service.createKey({ mode: 'credit', credit: '100' });
  for (const [index, [model, tokens, providerCostNanos]] of calls.entries()) {
    const id = `req_${index}`;
    await ledger.admit({ keyId, keyVersion: 1, claim: null, hold: { id, amount: 1n, amountMin: 1n, ttlMs: 60_000 } });
    const counts = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0, reasoning: 0, ...tokens };
    const call = { requestId: id, model, provider, format: 'chat', streamed: false, costNanos: 1n, providerCostNanos };
    await ledger.settle({
      keyId,
      holdId: id,
      charge: 1n,
      usage: {
        ...call,
        outcome: 'complete',
        source: 'reported',
        tokens: counts,
        attempts: 1,
        firstByteMs: 1,
        durationMs: 1,
      },
      reply: null,
      noReplyReason: 'charged_incomplete',
      flag: null,
    });
  }
  return fixture;
}

function figures(found: Awaited<ReturnType<typeof reconcile>>): readonly string[] {
  return found.differences.map(
    ({ day, model, measure, theirs, ours }) => `${day} ${model} ${measure}: ${theirs}, ${ours}`,
  );
}

describe('gateway reconcile', () => {
  test('an OpenAI usage export that agrees: models by their dated names, cached input as a part of the input', async (t) => {
    const { service } = await used(t, 'openai', [
      ['openai/gpt-4o-mini', { input: 70, cacheRead: 30, output: 12 }, 5n],
      ['gpt-4o-mini', { input: 5, output: 1 }, 5n],
    ]);
    const file = `\u{feff}${OPENAI}\r\n1768435200,1768521600,2026-01-15T00:00:00+00:00,,proj,1,,key,gpt-4o-mini-2024-07-18,false,default,100,12,30\r\n1768435200,1768521600,2026-01-15T00:00:00+00:00,,proj,1,,other,"gpt-4o-mini-2024-07-18",false,default,5,1,0\r\n1768521600,1768608000,2026-01-16T00:00:00+00:00,,,,,,,,,,,\r\n`;
    const found = await reconcile(service, 'usage.csv', bytes(file), { provider: 'openai' });
    assert.deepEqual(figures(found), []);
    assert.deepEqual([found.from, found.to, found.compared], ['2026-01-15', '2026-01-15', 1]);
    assert.deepEqual(found.measures, ['requests', 'input_tokens', 'cache_read_tokens', 'output_tokens']);
  });

  test('the last hour of the last day is compared, and the first hour of the next day is not', async (t) => {
    const call = ['gpt-4o', { input: 5, output: 1 }, 5n] as const;
    const file = bytes(`${OPENAI}\n1768435200,,2026-01-15,,p,1,,k,gpt-4o,false,default,5,1,0\n`);
    const late = await used(t, 'openai', [call], Date.parse('2026-01-15T23:30:00Z'));
    assert.deepEqual(figures(await reconcile(late.service, 'usage.csv', file, { provider: 'openai' })), []);
    const next = await used(t, 'openai', [call], Date.parse('2026-01-16T00:00:00Z'));
    assert.deepEqual(figures(await reconcile(next.service, 'usage.csv', file, { provider: 'openai' })), [
      '2026-01-15 gpt-4o requests: 1, 0',
      '2026-01-15 gpt-4o input_tokens: 5, 0',
      '2026-01-15 gpt-4o output_tokens: 1, 0',
    ]);
  });

  test('what differs is listed, also what only one side has', async (t) => {
    const { service } = await used(t, 'openai', [
      ['gpt-4o', { input: 100, output: 10 }, 5n],
      ['o3', { input: 7, output: 1 }, 5n],
    ]);
    const file = `${OPENAI}\n1768435200,,,,p,1,,k,gpt-4o,false,default,101,10,0\n1768435200,,,,p,2,,k,gpt-5,false,default,1,2,0\n`;
    const found = await reconcile(service, 'usage.csv', bytes(file.replaceAll('start_time_iso,', 'iso,')), {
      provider: 'openai',
    });
    assert.deepEqual(figures(found), [
      '2026-01-15 gpt-4o input_tokens: 101, 100',
      '2026-01-15 gpt-5 requests: 2, 0',
      '2026-01-15 gpt-5 input_tokens: 1, 0',
      '2026-01-15 gpt-5 output_tokens: 2, 0',
      '2026-01-15 o3 requests: 0, 1',
      '2026-01-15 o3 input_tokens: 0, 7',
      '2026-01-15 o3 output_tokens: 0, 1',
    ]);
    const tolerant = await reconcile(service, 'usage.csv', bytes(file.replaceAll('start_time_iso,', 'iso,')), {
      provider: 'openai',
      tolerance: '1',
      models: 'gpt-5=o3',
    });
    assert.deepEqual(figures(tolerant), [
      '2026-01-15 gpt-5 = o3 requests: 2, 1',
      '2026-01-15 gpt-5 = o3 input_tokens: 1, 7',
      '2026-01-15 gpt-5 = o3 output_tokens: 2, 1',
    ]);
  });

  test('Anthropic usage and cost exports, and OpenAI costs, in dollars', async (t) => {
    const { service } = await used(t, 'anthropic', [
      [
        'anthropic/claude-sonnet-4.5',
        { input: 10, cacheRead: 20, cacheWrite: 3, cacheWrite1h: 2, output: 5 },
        1_250_000_000n,
      ],
    ]);
    const usage = `${ANTHROPIC}\n2026-01-15,claude-sonnet-4-5-20250929,key,Default,standard,≤ 200k,10,3,2,20,5,0,global\n`;
    assert.deepEqual(figures(await reconcile(service, 'a.csv', bytes(usage), { provider: 'anthropic' })), []);
    const cost = `usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,cost_type\n2026-01-15,Claude Sonnet 4.5,Default,k,message,≤ 200k,input_no_cache,1.00,token\n2026-01-15,Claude Sonnet 4.5,Default,k,message,≤ 200k,output,0.26,token\n`;
    const found = await reconcile(service, 'c.csv', bytes(cost), { provider: 'anthropic' });
    assert.deepEqual(figures(found), ['2026-01-15 Claude Sonnet 4.5 = anthropic/claude-sonnet-4.5 cost: 1.26, 1.25']);
    const openai = `start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_id\n1768435200,,2026-01-15T00:00:00+00:00,,1.2500000000000000,usd,,\n1768521600,,2026-01-16T00:00:00+00:00,,,,,\n`;
    const days = await reconcile(service, 'o.csv', bytes(openai), { provider: 'anthropic', format: 'openai' });
    assert.deepEqual([figures(days), days.measures], [[], ['cost']]);
  });

  test('the command lists what differs and ends with 1; CSV has no cell that a spreadsheet would run', async (t) => {
    const { service } = await used(t, 'openai', [['=cmd', { input: 1 }, 5n]]);
    const file = join(temporaryFolder(), 'usage.csv');
    writeFileSync(file, `${OPENAI}\n1768435200,,2026-01-15,,p,1,,k,gpt-4o,false,default,5,5,0\n`);
    const run = (...flags: string[]) => runCommand(service, 'reconcile', file, '--provider', 'openai', ...flags);
    const table = await run();
    assert.equal(table.exitCode, 1);
    assert.match(table.text, /^openai, 2026-01-15 to 2026-01-15: 2 days × models compared/);
    assert.match((await run('--csv')).text, /\n2026-01-15,'=cmd,input_tokens,0,1,1\n/);
    await assert.rejects(runCommand(service, 'reconcile', `${file}.no`, '--provider', 'openai'), /cannot be read/);
  });

  test('a file that is broken or of another kind is refused with its line', async (t) => {
    const { service } = adminFixture(t);
    const refused = (text: string | Uint8Array, message: RegExp, options: object = {}) =>
      assert.rejects(
        reconcile(service, 'x.csv', typeof text === 'string' ? bytes(text) : text, { provider: 'openai', ...options }),
        (error) => error instanceof AdminError && message.test(error.message) && !/\n/.test(error.message),
      );
    await refused('', /x\.csv, line 1: the file is empty/);
    await refused('date,model\n2026-01-15,a\n', /line 1: no column for the input: expected input_tokens/);
    await refused(`${OPENAI}\n1,2\n`, /line 2: the line has another number of cells/);
    await refused('date,model,input_tokens,output_tokens\n2026-01-15,"a,1,2\n', /line 2: a quote is opened/);
    await refused('date,model,input_tokens,output_tokens\n2026-01-15,"a"b,1,2\n', /line 2: something follows/);
    await refused('date,model,input_tokens,output_tokens\nsoon,a,1,2\n', /line 2: date is "soon"/);
    await refused('date,model,input_tokens,output_tokens\n2026-01-15,a,-1,2\n', /line 2: input_tokens is "-1"/);
    await refused('date,date\n1,2\n', /line 1: the column "date" is there twice/);
    await refused('date,model,input_tokens,output_tokens\n', /has no usage/);
    await refused(Uint8Array.of(0xff, 0xfe, 0x41), /not in UTF-8/);
    await refused('x', /--export/, { provider: 'mistral' });
    await refused('x', /--tolerance/, { tolerance: 'much' });
    await refused('x', /THEIRS=OURS/, { models: 'a' });
  });

  test('CSV is read with a byte order mark, quotes, line breaks inside of cells, semicolons and tabs', async () => {
    const { rows, columns } = await parseCsv('x', bytes('\u{feff}A;b\n"1;\n""x""";2\n'));
    assert.deepEqual([columns, rows[0]?.cell('a'), rows[0]?.cell('b'), rows[0]?.line], [['a', 'b'], '1;\n"x"', '2', 3]);
    assert.equal((await parseCsv('x', bytes('a\tb\n1\t2,5\n'))).rows[0]?.cell('b'), '2,5');
  });
});

async function runCommand(service: TestAdmin, ...line: string[]) {
  const command = findCommand(COMMANDS, line);
  return command.run(service, readArguments(command, line));
}
