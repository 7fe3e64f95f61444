/** The data of a customer who leaves: what goes, what stays, and what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adminFetch } from '../../support/admin-fetch.ts';
import { call, startedGateway } from '../../support/started-gateway.ts';

const PROMPT = { model: 'sandbox/alpha', messages: [{ role: 'user', content: 'Hello!' }] };

describe('erasing an account', () => {
  test('removes names and the log, keeps the books, and refuses what would lose money or a request', async () => {
    await using gateway = await startedGateway();
    const { admin, origin } = gateway;
    const send = adminFetch(gateway.dataDir);
    const customer = await admin.accounts.create({ name: 'Acme', external_id: 'crm-1', labels: { city: 'Vienna' } });
    const team = await admin.accounts.create({ name: 'Ann Smith', parent: customer.id });
    await admin.accounts.addCredit(customer.id, { amount: '5', note: 'invoice 1' });
    const key = await admin.createKey({ mode: 'credit', label: "Ann's laptop", account: team.id });
    const old = await admin.createKey({ mode: 'credit', label: 'an old one', account: team.id });
    await admin.changeKey(old.id, { status: 'revoked' });
    const other = await gateway.creditKey();
    for (const { key: text } of [key, other]) {
      assert.equal((await call(`${origin}/v1/chat/completions`, { key: text, body: PROMPT })).status, 200);
    }
    const logged = async (id: string): Promise<number> =>
      ((await send(`/requests?key=${id}`)).body as { data: unknown[] }).data.length;
    for (const { id } of [key, other]) while ((await logged(id)) === 0);
    const wrong = { ...PROMPT, model: 'no/such-model' };
    assert.equal((await call(`${origin}/v1/chat/completions`, { key: key.key, body: wrong })).status, 404);
    while (!/"failed":1/.test(JSON.stringify((await send('/usage?by=label')).body)));
    const erase = (name: string) => send(`/accounts/${customer.id}/erase`, 'POST', { name });
    const refusal = async (name: string): Promise<string> => {
      const { status, body } = await erase(name);
      assert.equal(status, 409);
      return (body as { error: { message: string } }).error.message;
    };

    assert.match(await refusal('Acne'), /^name is "Acne": give the name of acct_/);
    const stream = { ...PROMPT, stream: true, messages: [{ role: 'user', content: '[[tokens=20000]] [[delay=50]]' }] };
    const running = call(`${origin}/v1/chat/completions`, { key: key.key, body: stream }).then((answer) =>
      answer.text(),
    );
    while ((await admin.accounts.show(customer.id)).live_holds === 0);
    assert.match(await refusal('Acme'), /^1 requests of acct_\w+ are in flight: .*gateway keys stop/);
    assert.equal((await send(`/keys/${key.id}/requests/running`, 'DELETE')).status, 200);
    await running;
    while ((await admin.accounts.show(customer.id)).live_holds > 0);
    const { balance } = await admin.accounts.show(customer.id);
    assert(balance !== null);
    assert.match(await refusal('Acme'), /credits that were bought: pay them out/);
    assert.equal((await admin.accounts.show(customer.id)).name, 'Acme', 'a refusal changes nothing');
    await send(`/accounts/${customer.id}/corrections`, 'POST', { amount: `-${balance}`, reason: 'paid out' });

    const { status, body } = await erase('Acme');
    assert.equal(status, 200, JSON.stringify(body));
    const { requests, ...counts } = body as { requests: number };
    assert.deepEqual(counts, { id: customer.id, accounts: 2, keys: 2, names_kept: 1 });
    assert.ok(requests >= 1);
    for (const id of [customer.id, team.id]) {
      const { name, status: now, external_id, labels } = await admin.accounts.show(id);
      assert.deepEqual([name, now, external_id, labels], ['erased', 'closed', null, {}]);
    }
    const failed = (await send('/usage?by=label')).body as { data: { label: string | null; failed: number }[] };
    assert.deepEqual(
      failed.data.map((row) => [row.label, row.failed]),
      [[null, 1]],
    );
    const { label, status: keyStatus } = await admin.showKey(key.id);
    assert.deepEqual([label, keyStatus], [null, 'revoked']);
    assert.equal(await logged(other.id), 1, 'what others did stays');
    // A request that ended just now may come into the log a moment later; repeated, it goes too.
    while ((await logged(key.id)) > 0) await erase('erased');
    assert.ok((await gateway.audit()).ok);
    const statement = await send(`/accounts/${customer.id}/statement?month=${new Date().toISOString().slice(0, 7)}`);
    assert.match(JSON.stringify(statement.body), /invoice 1/, 'the books keep what was bought');
    const trail = JSON.stringify((await send('/audit-trail?action=account.erase')).body);
    assert.doesNotMatch(trail, /Acme|Ann/);
  });
});
