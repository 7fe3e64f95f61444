/** Usage reports as an operator asks for them: through the service, as a table, as CSV. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { AdminError } from '../../../src/admin/error.ts';
import { validQuery } from '../../../src/admin/http/validate.ts';
import { Requests } from '../../../src/admin/requests/requests.ts';
import { readUsageQuery } from '../../../src/admin/usage/query.ts';
import type { UsageView } from '../../../src/admin/usage/schema.ts';
import { UsageParameters } from '../../../src/admin/usage/schema.ts';
import { usageCsv, usageTable } from '../../../src/cli/usage-text.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.ts';
import { SqliteAppender } from '../../../src/observe/request-log/sqlite/appender.ts';
import { RequestLogFile } from '../../../src/observe/request-log/sqlite/file.ts';
import { openFileReader } from '../../../src/observe/request-log/sqlite/file-reader.ts';
import { admitRequest, settleRequest, usageRecord } from '../../contract/fixtures.ts';
import { type AdminFixture, adminFixture, START_MS } from '../../support/admin-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function spend(
  { ledger }: AdminFixture,
  keyId: string,
  nanos: bigint,
  told: Parameters<typeof settleRequest>[3] = { usage: usageRecord({ costNanos: nanos }) },
): Promise<void> {
  const holdId = `${keyId} ${Math.random()}`;
  await ledger.admit(admitRequest(keyId, holdId, nanos));
  await ledger.settle(settleRequest(keyId, holdId, nanos, told));
}

function refused(input: object, pattern: RegExp): void {
  assert.throws(
    () => readUsageQuery(validQuery(UsageParameters, input), START_MS),
    (error: unknown) => {
      assert(error instanceof AdminError, String(error));
      assert.equal(error.code, 'invalid_input');
      assert.match(error.message, pattern);
      assert(!error.message.includes('\n'), 'one line');
      return true;
    },
  );
}

describe('a usage report', () => {
  test('is of any period, in the days of any time zone', async (t) => {
    const fixture = adminFixture(t);
    const { service, clock } = fixture;
    const { id } = await service.createKey({ mode: 'credit', credit: '5' });
    // In the evening of the 15th in UTC it is the 16th in Berlin, and still the 15th in New York.
    clock.atMs = Date.UTC(2026, 0, 15, 23, 30);
    await spend(fixture, id, 1n);
    clock.atMs = Date.UTC(2026, 0, 16, 12);
    const days = async (query: object): Promise<unknown> => {
      const { data, since, until, time_zone } = await service.usage({ by: 'day', ...query });
      return [time_zone, since.slice(0, 13), until.slice(0, 13), ...data.map(({ day }) => day)];
    };
    const berlin = { time_zone: 'europe/berlin' };
    assert.deepEqual(await days({ period: 'yesterday' }), ['UTC', '2026-01-15T00', '2026-01-16T00', '2026-01-15']);
    assert.deepEqual(await days({ period: 'yesterday', ...berlin }), [
      'Europe/Berlin',
      '2026-01-14T23',
      '2026-01-15T23',
    ]);
    assert.deepEqual(await days({ period: 'today', ...berlin }), [
      ...['Europe/Berlin', '2026-01-15T23', '2026-01-16T13'],
      '2026-01-16',
    ]);
    assert.deepEqual(await days({ since: '2026-01-16', ...berlin }), [
      ...['Europe/Berlin', '2026-01-15T23', '2026-01-16T13'],
      '2026-01-16',
    ]);
    assert.deepEqual(await days({ period: 'this_month', time_zone: 'America/New_York' }), [
      ...['America/New_York', '2026-01-01T05', '2026-01-16T13'],
      '2026-01-15',
    ]);
    assert.deepEqual(await days({ period: 'this_week' }), ['UTC', '2026-01-12T00', '2026-01-16T13', '2026-01-15']);
    assert.deepEqual(await days({ period: 'last_month' }), ['UTC', '2025-12-01T00', '2026-01-01T00']);
    // Days in India begin on half an hour: the first hour that begins in one is its first.
    assert.deepEqual(await days({ since: '2026-01-16', time_zone: 'Asia/Kolkata' }), [
      ...['Asia/Calcutta', '2026-01-15T19', '2026-01-16T13'],
      '2026-01-16',
    ]);
    refused(
      { time_zone: 'Mars/Olympus' },
      /^time_zone is "Mars\/Olympus": must be a time zone like UTC, Europe\/Berlin/,
    );
    refused({ period: 'today', since: '1d' }, /^period cannot be combined with since and until/);
    refused({ period: 'someday' }, /^period/);
  });

  test('by account has what each customer spent with its teams, or what each team did', async (t) => {
    const fixture = adminFixture(t);
    const { service } = fixture;
    const acme = (await service.accounts.create({ name: 'Acme' })).id;
    const team = (await service.accounts.create({ name: 'Support', parent: acme })).id;
    const project = (await service.accounts.create({ name: 'Bot', parent: team })).id;
    const globex = (await service.accounts.create({ name: 'Globex' })).id;
    for (const id of [acme, globex]) await service.accounts.addCredit(id, { amount: '5' });
    for (const [account, nanos] of [
      [acme, 1n],
      [team, 2n],
      [project, 4n],
      [globex, 5n],
    ] as const) {
      await spend(fixture, (await service.createKey({ mode: 'credit', account })).id, nanos);
    }
    const spent = async (query: object): Promise<unknown> =>
      (await service.usage({ by: 'account', ...query })).data
        .map(({ account_name, charged_credits, requests }) => [account_name, charged_credits * 1e9, requests])
        .sort();
    assert.deepEqual(await spent({ level: 1 }), [
      ['Acme', 7, 3],
      ['Globex', 5, 1],
    ]);
    assert.deepEqual(await spent({ level: 2, account: acme }), [
      ['Acme', 1, 1],
      ['Support', 6, 2],
    ]);
    assert.deepEqual(await spent({ level: 1, top: 1 }), [['Acme', 7, 3]]);
    assert.deepEqual(await spent({ account: team }), [
      ['Bot', 4, 1],
      ['Support', 2, 1],
    ]);
    refused({ by: 'model', level: 1 }, /^level applies only to a report by account/);
    refused({ by: 'account', level: 5 }, /^level/);
    const [key] = await service.listKeys({ account: project });
    assert.equal(key?.account_name, 'Bot');
  });

  test('by account has what failed of a key where it has what the key was charged: at the account that it has', async (t) => {
    const file = join(temporaryFolder(), 'requests.db');
    const appender = new SqliteAppender(file, () => assert.fail('nothing is damaged'));
    const reader = openFileReader(new RequestLogFile(file, ''));
    t.after(() => Promise.all([appender.close(), reader.close()]));
    const fixture = adminFixture(t, { requests: new Requests(reader, async () => []) });
    const { service } = fixture;
    const acme = (await service.accounts.create({ name: 'Acme' })).id;
    const [before, after] = [
      (await service.accounts.create({ name: 'Before', parent: acme })).id,
      (await service.accounts.create({ name: 'After', parent: acme })).id,
    ];
    await service.accounts.addCredit(acme, { amount: '5' });
    const { id } = await service.createKey({ mode: 'credit', account: before });
    await spend(fixture, id, 1n);
    const failure = { startMs: Math.floor(START_MS / HOUR_MS) * HOUR_MS, keyId: id, label: '', accountId: before };
    const call = { model: 'm', provider: 'p', format: 'chat', condition: 'upstream_error', failed: 3 };
    await appender.count([{ ...failure, ...call }]);
    await service.accounts.addKey(after, { key: id });
    const { data } = await service.usage({ by: 'account' });
    assert.deepEqual(
      data.map(({ account_name, requests, failed }) => [account_name, requests, failed]),
      [['After', 1, 3]],
    );
  });

  test('has cost, provider cost and margin, with cancelled calls, and agrees with the balance', async (t) => {
    const fixture = adminFixture(t);
    const { service, ledger, clock } = fixture;
    const { id } = await service.createKey({ mode: 'credit', credit: '5', label: 'team' });
    const call = { model: 'm', provider: 'p', format: 'chat', costNanos: 0n, providerCostNanos: 2_000_000_000n };
    await spend(fixture, id, 1_500_000_000n);
    clock.atMs += DAY_MS;
    await spend(fixture, id, 250_000_001n, { call });
    const report = await service.usage({ by: 'day,model,label' });
    assert.deepEqual([report.since, report.until], ['2025-12-18T00:00:00.000Z', '2026-01-16T13:00:00.000Z']);
    assert.deepEqual(
      report.data.map((row) => [row.day, row.model, row.label, row.requests, row.cancelled, row.cost, row.margin]),
      [
        ['2026-01-15', 'sandbox/alpha', 'team', 1, 0, 1.5, 1.499999995],
        ['2026-01-16', 'm', 'team', 0, 1, 0.250000001, -1.749999999],
      ],
    );
    const { total } = report;
    assert.deepEqual(
      [total.cost, total.charged_credits, total.charged_tokens, total.provider_cost],
      [1.750000001, 1.750000001, 0, 2.000000005],
    );
    assert.equal((await service.showKey(id)).used, total.charged_credits);
    assert.deepEqual([total.first_byte_ms?.p50, total.output_tokens], [125, 20]);
    await ledger.rollUp();
    assert.deepEqual(await service.usage({ by: 'day,model,label' }), report);
    assert.deepEqual((await service.usage({ key: id, since: '1h' })).total.cancelled, 1);
    await assert.rejects(service.usage({ key: 'key_none' }), /key "key_none" does not exist/);
  });

  test('by account says what each account is called', async (t) => {
    const fixture = adminFixture(t);
    const { service } = fixture;
    const { id: account } = await service.accounts.create({ name: 'Acme' });
    await service.accounts.addCredit(account, { amount: '5' });
    await spend(fixture, (await service.createKey({ mode: 'credit', account })).id, 2_000_000_000n);
    await spend(fixture, (await service.createKey({ mode: 'credit', credit: '5' })).id, 1_000_000_000n);
    const report = await service.usage({ by: 'account', top: 5 });
    assert.deepEqual(
      new Map(report.data.map((row) => [row.account, [row.account_name, row.cost]])),
      new Map([
        [account, ['Acme', 2]],
        [null, [null, 1]],
      ]),
    );
    assert.ok((await service.usage({ by: 'model' })).data.every((row) => !('account_name' in row)));
  });

  test('refuses what it cannot answer, and says what it wants', () => {
    refused(
      { by: 'model,colour' },
      /^by is "model,colour": must be a list of day, hour, key, label, account, model, provider, format/,
    );
    refused({ by: 'model,model' }, /each once/);
    refused({ by: 'model,' }, /^by is/);
    refused({ since: 'yesterday' }, /^since is "yesterday": must be a time like .* 30d or 4w/);
    refused({ since: '2026-02-30' }, /^since is/);
    refused({ since: '99999w' }, /^since is/);
    refused(
      { since: '401d' },
      /^since is 2024-12-11T.*, and the report ends at 2026-01-15T13.*: a report spans up to 400 days/,
    );
    refused({ since: '2024-12-10' }, /^since is 2024-12-10T00:/);
    refused({ since: '9601h' }, /^since is 2024-12-11T11:/);
    refused(
      { until: '9999-12-31' },
      /^until is 9999-12-31T00:.*, and the report begins at 2025-12-17T00:.* up to 400 days/,
    );
    refused({ since: '93d', by: 'hour' }, /^by has hour, from 2025-10-15T00:.* to 2026-01-15T13:.* up to 92 days$/);
    refused({ since: '2026-01-15T14:00:00Z' }, /not before the end of the report/);
    refused({ since: '1d', until: '2d' }, /not before the end of the report/);
    refused({ label: 'two\nlines' }, /^label is "two.*lines": must be one line/);
    refused({ model: '' }, /^model is "": must be one line/);
    refused({ by: 'key', top: '0' }, /^top/);
    refused({ by: 'key', top: '5', order: 'luck' }, /^order .*cost, requests, tokens/);
    refused({ by: 'key', order: 'cost' }, /^order applies only together with top/);
    refused({ colour: 'red' }, /unknown query parameter "colour": expected one of by, since, until/);
  });

  test('takes as many days as it says, with today among them', () => {
    for (let hour = 0; hour < 24; hour++) {
      const nowMs = Date.UTC(2026, 0, 15, hour, 30);
      assert.equal(readUsageQuery({ since: '400d' }, nowMs).sinceMs, Date.UTC(2024, 11, 12));
      assert.equal(readUsageQuery({ since: '92d', by: 'hour' }, nowMs).sinceMs, Date.UTC(2025, 9, 16));
    }
    const { sinceMs, untilMs } = readUsageQuery({ since: '2023-01-01', until: '2024-02-05' }, START_MS);
    assert.equal((untilMs - sinceMs) / DAY_MS, 400);
    refused({ since: '2023-01-01', until: '2024-02-06' }, /^since is 2023-01-01T/);
    readUsageQuery({ by: 'hour', since: '2025-01-01', until: '2025-04-03' }, START_MS);
    refused({ by: 'hour', since: '2025-01-01', until: '2025-04-04' }, /^by has hour/);
  });

  test('covers whole hours around what was asked for, whatever that is', () => {
    fc.assert(
      fc.property(fc.nat(400 * 24), fc.nat(HOUR_MS * 24 * 30), (hours, ms) => {
        const nowMs = START_MS + ms;
        fc.pre(hours > 0 && hours < 399 * 24);
        const { sinceMs, untilMs } = readUsageQuery({ since: `${hours}h` }, nowMs);
        assert.ok(sinceMs % HOUR_MS === 0 && untilMs % HOUR_MS === 0);
        assert.ok(sinceMs <= nowMs - hours * HOUR_MS && sinceMs > nowMs - (hours + 1) * HOUR_MS && untilMs > nowMs);
      }),
    );
    const day = readUsageQuery({ since: '2026-01-01', until: '2026-01-02' }, START_MS);
    assert.deepEqual([day.sinceMs, day.untilMs], [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)]);
    assert.equal(readUsageQuery({ since: '2d' }, START_MS).sinceMs, Date.UTC(2026, 0, 14));
  });
});

describe('a usage report as text', () => {
  const figures: UsageView['total'] = {
    ...{ failed: 2, failed_by_condition: { upstream_error: 1, limit_reached: 1 }, error_rate: 0.333333 },
    ...{ requests: 3, cancelled: 1, broken: 0, cost: 0.00000125, provider_cost: 2, margin: -1.99999875 },
    ...{
      charged_credits: 0.00000125,
      charged_tokens: 7,
      input_tokens: 10,
      cache_read_tokens: 1,
      cache_write_tokens: 2,
    },
    ...{ cache_write_1h_tokens: 3, output_tokens: 5, reasoning_tokens: 4, first_byte_ms: null },
    duration_ms: { p50: 1_234, p95: 5_000, p99: 6_000 },
  };
  const report = (labels: readonly (string | null)[], complete = true): UsageView => ({
    object: 'usage',
    since: '2026-01-01T00:00:00.000Z',
    until: '2026-01-02T00:00:00.000Z',
    time_zone: 'UTC',
    by: ['label'],
    complete,
    data: labels.map((label) => ({ label, ...figures })),
    total: figures,
    without_key: { failed: 0, failed_by_condition: {} },
  });

  test('CSV has every figure exactly, and no cell that a spreadsheet would run', () => {
    const hostile = ['=1+1', '+1', '-1', '@x', '\t=1', 'a,"b"\nc', null, 'plain'];
    const { lines, warning } = usageCsv(report(hostile));
    assert.equal(warning, null);
    const [head, ...rows] = lines;
    const rest =
      '3,1,0,2,0.333333,upstream_error=1; limit_reached=1,0.00000125,2,-1.99999875,0.00000125,7,10,1,2,3,5,4,,,,1234,5000,6000';
    assert.match(
      head ?? '',
      /^label,requests,cancelled,broken,failed,error_rate,failed_by_condition,cost,provider_cost,margin,.*,duration_ms_p99$/,
    );
    assert.deepEqual(
      rows,
      ["'=1+1", "'+1", "'-1", "'@x", "'\t=1", '"a,""b""\nc"', '', 'plain'].map((cell) => `${cell},${rest}`),
    );
    assert.match(usageCsv(report([], false)).warning ?? '', /still being added/);
  });

  test('the table has a total, one line per row whatever a label holds, and says when it is not complete', () => {
    const lines = usageTable(report(['two\nlines', null]));
    assert.deepEqual(lines.slice(6), [
      '',
      'Failed: upstream_error=1, limit_reached=1.',
      'See them: gateway requests list --condition upstream_error --since 2026-01-01T00:00:00.000Z',
    ]);
    assert.match(
      lines[2] ?? '',
      /^LABEL +REQUESTS +CANCELLED +BROKEN +FAILED +ERROR RATE +INPUT +OUTPUT +COST +PROVIDER COST +MARGIN/,
    );
    assert.match(
      lines[3] ?? '',
      /^two\ufffdlines +3 +1 +0 +2 +33\.3 % +16 +5 +0\.0000 +2\.0000 +-2\.0000 +- +1\.23\/5\.00 s$/,
    );
    assert.match(lines[5] ?? '', /^total/);
    const none = { ...figures, failed: 0, failed_by_condition: {} };
    const unknown = { failed: 3, failed_by_condition: { invalid_credentials: 3 } };
    assert.deepEqual(usageTable({ ...report([]), total: none, without_key: unknown }).slice(1), [
      '',
      'There were no requests in this time.',
      '',
      'Beside them, requests without a known key: invalid_credentials=3.',
    ]);
    assert.match(usageTable(report(['x'], false)).at(-1) ?? '', /^Not complete/);
  });

  test('an account is shown with its id and its name, whatever that is', () => {
    const accounts = [
      { account: 'acct_1', account_name: '=Acme, "Inc"', day: '2026-01-01' },
      { account: 'acct_2', account_name: 'two\nlines', day: '2026-01-01' },
      { account: null, account_name: null, day: '2026-01-01' },
    ];
    const byAccount: UsageView = {
      ...report([]),
      by: ['account', 'day'],
      data: accounts.map((row) => ({ ...row, ...figures })),
    };
    const [head = '', ...rows] = usageCsv(byAccount).lines;
    assert.match(head, /^account,account_name,day,requests,/);
    assert.deepEqual(
      rows.map((row) => row.slice(0, row.indexOf(',3,1,0,'))),
      ['acct_1,"\'=Acme, ""Inc""",2026-01-01', 'acct_2,"two\nlines",2026-01-01', ',,2026-01-01'],
    );
    const table = usageTable(byAccount).slice(2, 7);
    const texts = table.map((line) => line.split(/ {2,}/).slice(0, 3));
    assert.deepEqual(texts.slice(0, 4), [
      ['ACCOUNT', 'ACCOUNT NAME', 'DAY'],
      ['acct_1', '=Acme, "Inc"', '2026-01-01'],
      ['acct_2', 'two\ufffdlines', '2026-01-01'],
      ['-', '-', '2026-01-01'],
    ]);
    assert.equal(new Set(table.map((line) => line.length)).size, 1, 'aligned, the total too');
  });
});
