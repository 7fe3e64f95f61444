/** What an operator is told of the gateway's own files: a configuration that was not taken, certificates that end. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Log, NO_LOG } from '../../../src/core/log.ts';
import { checkCertificates } from '../../../src/doctor/check-certificates.ts';
import { certificateOf } from '../../support/certificate.ts';
import { configFileIn } from '../../support/gateway-environment.ts';
import { scrapeOf } from '../../support/scrape.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function tlsFiles(untilYear: number): Promise<{ readonly cert: string; readonly key: string }> {
  const folder = temporaryFolder();
  const { cert, key } = certificateOf('localhost', untilYear);
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
  return files;
}

/** Looks again until there is one. */
async function alertOf({ admin }: StartedGateway, type: string): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const { data } = await admin.alerts.list({ type });
    if (data[0] !== undefined) return data[0].data;
    await delay(50);
  }
}

async function untilMetric({ dataDir }: StartedGateway, name: string, value: number): Promise<void> {
  while ((await scrapeOf(dataDir)).sum(name) !== value) await delay(50);
}

describe('[F55] an operator is told', () => {
  test('that a changed configuration was not taken: in the log, by a metric and by an alert, until it is', async () => {
    const errors: string[] = [];
    const log: Log = { ...NO_LOG, error: (_fields, message) => errors.push(message) };
    const dataDir = temporaryFolder();
    const config = 'alerts: {}\n';
    await using gateway = await startedGateway({ dataDir, config, log });
    const before = await scrapeOf(dataDir);
    assert.equal(before.sum('gateway_reload_ok'), 1);
    assert.equal(before.sum('gateway_config_last_reload_successful'), 1);
    const takenAtS = before.sum('gateway_config_last_reload_success_timestamp_seconds');
    assert.ok(takenAtS <= Date.now() / 1_000 && takenAtS > Date.now() / 1_000 - 3_600);
    assert.deepEqual((await gateway.admin.call('configuration', {})).refused, []);
    await writeFile(configFileIn(dataDir), `${config}modells: []\n`);
    await untilMetric(gateway, 'gateway_reload_ok', 0);
    assert.match(errors.join('\n'), /the new configuration is invalid, the old one stays in use: .*modells/);
    const { problems } = await alertOf(gateway, 'reload.refused');
    assert.match(String(problems), /modells/);
    const refused = await scrapeOf(dataDir);
    assert.equal(refused.sum('gateway_config_last_reload_successful'), 0);
    assert.equal(refused.sum('gateway_config_last_reload_success_timestamp_seconds'), takenAtS);
    assert.match((await gateway.admin.call('configuration', {})).refused.join('\n'), /modells/);
    await writeFile(configFileIn(dataDir), '');
    while (!errors.at(-1)?.includes('is empty')) await delay(50);
    assert.match((await gateway.admin.call('configuration', {})).refused.join('\n'), /is empty; .* write \{\} where/);
    await writeFile(configFileIn(dataDir), `${config}access_log: true\n`);
    await untilMetric(gateway, 'gateway_config_last_reload_successful', 1);
    const after = await scrapeOf(dataDir);
    assert.equal(after.sum('gateway_reload_ok'), 1);
    assert.ok(after.sum('gateway_config_last_reload_success_timestamp_seconds') > takenAtS);
  });

  test('that the config file is empty at a start, and not where it says that the defaults are meant', async () => {
    for (const [config, warned] of [
      ['# nothing yet\n', 1],
      ['{}', 0],
    ] as const) {
      const warnings: string[] = [];
      const log: Log = { ...NO_LOG, warn: (_fields, message) => warnings.push(message) };
      await using _gateway = await startedGateway({ config, log });
      assert.equal(warnings.filter((line) => /config file is empty.* write \{\}/.test(line)).length, warned);
    }
  });

  test('that a certificate has expired, of each listener: in the log, by a metric and by an alert', async () => {
    const errors: string[] = [];
    const log: Log = { ...NO_LOG, error: (fields, message) => errors.push(`${message} ${JSON.stringify(fields)}`) };
    const [expired, good] = [await tlsFiles(2024), await tlsFiles(2120)];
    const config = `alerts: {}\ntls: { cert: ${expired.cert}, key: ${expired.key} }\n`;
    const env = { GATEWAY_ADMIN_TLS_CERT: good.cert, GATEWAY_ADMIN_TLS_KEY: good.key };
    await using gateway = await startedGateway({ config, env, log });
    assert.match(errors.join('\n'), /certificate of the public listener has expired.*"expiresAt":"2024-01-01T/);
    assert.doesNotMatch(errors.join('\n'), /admin listener/);
    const expiry = 'gateway_certificate_expiry_timestamp_seconds';
    const metrics = await scrapeOf(gateway.dataDir);
    assert.equal(metrics.sum(expiry, { listener: 'public' }), Date.UTC(2024) / 1_000);
    assert.equal(metrics.sum(expiry, { listener: 'admin' }), Date.UTC(2120) / 1_000);
    const told = { listener: 'public', expires_at: '2024-01-01T00:00:00.000Z', expired: true };
    assert.deepEqual(await alertOf(gateway, 'certificate.expiring'), told);
  });

  test('by the doctor, of certificates that cannot be used, have expired or expire soon', async () => {
    const files = await tlsFiles(2030);
    const check = (nowMs: number, admin: typeof files | null = null) =>
      checkCertificates({ public: files, admin }, nowMs);
    const good = await check(Date.UTC(2029));
    assert.deepEqual([good.certificates.state, good.certificates.detail], ['ok', 'public until 2030-01-01']);
    assert.deepEqual((await check(Date.UTC(2029, 11, 20))).toDo, [`${files.cert}: expires on 2030-01-01: renew it`]);
    const over = await check(Date.UTC(2030));
    assert.deepEqual([over.certificates.state, over.toDo], ['problem', [`${files.cert}: has expired: renew it`]]);
    const broken = await check(Date.UTC(2029), { cert: files.key, key: files.key });
    assert.deepEqual(broken.toDo, [`${files.key}: has no certificate in PEM format`]);
    assert.equal((await checkCertificates({ public: null, admin: null }, 0)).certificates.state, 'skipped');
  });
});
