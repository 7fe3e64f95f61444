import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, type OpenBooks } from './fixtures.ts';

export function documentContract(open: OpenBooks): void {
  test('a document is what was put last, with its time, for every gateway on the store', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const other = await bench.another();
    assert.equal(await other.getDocument('model-lists'), null);
    await ledger.putDocument('model-lists', '{"version":1}');
    clock.advance(1_000);
    const text = JSON.stringify({ text: '"\\ ünï\u2028', filler: 'x'.repeat(300_000) });
    await ledger.putDocument('model-lists', text);
    assert.deepEqual(await other.getDocument('model-lists'), { value: text, atMs: clock.nowMs() });
    assert.equal(await other.getDocument('another'), null);
    await bench.close();
  });
}
