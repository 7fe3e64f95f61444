/** Prices change while a request runs: it ends at the price that it was admitted at. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Log } from '../../../src/core/log.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { accountWhen, auditClean, visit } from '../../support/requests.ts';
import { startedGateway } from '../../support/started-gateway.ts';
import { gatedUpstream } from '../../support/upstreams/gated.ts';

const BODY = { model: 'gated/one', messages: [{ role: 'user', content: 'Hello' }] };
/** 10 tokens in and 5 out, as `Gated` reports them, at 1 and 4 USD per million. */
const OLD_CHARGE = 0.000_03;
const FACTOR = 7;

test('[F28] a reload of prices mid-request: settled at the old price, the next one at the new', async () => {
  await using upstream = await gatedUpstream();
  let reloaded: () => void = () => {};
  const reload = new Promise<void>((resolve) => {
    reloaded = resolve;
  });
  const log: Log = {
    ...NO_LOG,
    info: (_, message) => {
      if (message === 'the configuration was reloaded') reloaded();
    },
  };
  await using gateway = await startedGateway({ config: upstream.config, log });
  const [streaming, whole, later] = await Promise.all([1, 2, 3].map(() => gateway.creditKey()));
  assert.ok(streaming && whole && later);

  const stream = visit(streaming, 'chat', { body: { ...BODY, stream: true } });
  const streamCall = await upstream.next();
  streamCall.begin();
  const answer = visit(whole, 'chat', { body: BODY });
  const wholeCall = await upstream.next();

  const dearer = upstream.config.replaceAll('input: 1, output: 4', `input: ${FACTOR}, output: ${4 * FACTOR}`);
  await writeFile(join(gateway.dataDir, 'gateway.yaml'), dearer);
  await reload;

  streamCall.finish();
  wholeCall.answer();
  assert.match(await (await stream).text(), /\[DONE\]/);
  assert.equal((await answer).status, 200);
  const next = visit(later, 'chat', { body: BODY });
  (await upstream.next()).answer();
  assert.equal((await next).status, 200);

  const used = await Promise.all(
    [streaming, whole, later].map(async (key) => (await accountWhen(gateway, key, (view) => view.used > 0)).used),
  );
  assert.deepEqual(used, [OLD_CHARGE, OLD_CHARGE, Number((OLD_CHARGE * FACTOR).toFixed(9))]);
  await auditClean(gateway);
});
