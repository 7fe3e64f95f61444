import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { type Cli, openBooks } from '../../../bench/books.ts';
import { PROMPT_TOKENS, type RequestShape } from '../../../bench/requests.ts';

const SHAPE: RequestShape = {
  client: 'chat',
  native: 'chat',
  bodyBytes: 1024,
  answer: { kind: 'whole', bytes: 400 },
};
const KEYS = [{ id: 'key-1', key: 'mg_c_one' }];
const clean: Cli = async () => ({ code: 0, stdout: '{"ok":true,"liveHolds":0}' });

describe('the check of the books after a workload', () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        requests: { total: requests },
        tokens: { input: requests * PROMPT_TOKENS, output: requests * 100 },
        credits: { reserved: 0 },
      }),
    );
  });
  let origin = '';
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    origin = `http://127.0.0.1:${address.port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  test('finds nothing when every answer is in the books once', async () => {
    requests = 7;
    const books = openBooks(origin, KEYS, clean);
    books.record(SHAPE, [5], 0);
    books.record(SHAPE, [2], 0);
    assert.deepEqual(await books.check(), { findings: [], sumsCompared: true });
  });

  test('finds an answer that was not charged, and one that was charged twice', async () => {
    for (const charged of [6, 8]) {
      requests = charged;
      const books = openBooks(origin, KEYS, clean);
      books.record(SHAPE, [7], 0);
      const { findings } = await books.check();
      assert.equal(findings.length, 3);
      assert.match(findings[0] ?? '', new RegExp(`requests is ${charged} in the books, 7 were served`));
    }
  });

  test('does not compare sums when a request failed: it may or may not have been charged', async () => {
    requests = 8;
    const books = openBooks(origin, KEYS, clean);
    books.record(SHAPE, [7], 1);
    assert.deepEqual(await books.check(), { findings: [], sumsCompared: false });
  });

  test('finds an audit that failed', async () => {
    requests = 0;
    const books = openBooks(origin, KEYS, async () => ({ code: 1, stdout: 'balance of key-1 is off by 3' }));
    assert.match((await books.check()).findings[0] ?? '', /exit code 1: balance of key-1 is off by 3/);
  });
});
