import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { InFlight, type InFlightExchange } from '../../../src/exchange/in-flight.ts';
import { MARK_INTERVAL_MS, type Mark } from '../../../src/ledger/port.ts';

function exchangeOf(holdId: string): InFlightExchange & { ended: boolean } {
  return {
    ended: false,
    deadlineMs: Number.POSITIVE_INFINITY,
    expire: () => {},
    progress: () => ({
      holdId,
      keyId: 'k',
      charge: 1n,
      tokens: { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 1, reasoning: 0 },
    }),
    running: () => assert.fail('nobody asks'),
    stop: () => {},
  };
}

test('[F2] very many exchanges are marked a part at a time, others are served in between, and none that has ended', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const marks: Mark[] = [];
  const inFlight = new InFlight({ mark: (mark) => marks.push(mark) });
  const exchanges = Array.from({ length: 1_100 }, (_, index) => exchangeOf(`h${index}`));
  for (const exchange of exchanges) inFlight.add(exchange, 60_000);
  t.mock.timers.tick(MARK_INTERVAL_MS);
  assert.equal(marks.length, 500);
  const last = exchanges.at(-1);
  assert.ok(last);
  last.ended = true;
  await turn();
  assert.equal(marks.length, 1_000);
  await turn();
  assert.deepEqual(
    marks.map(({ holdId }) => holdId),
    exchanges.slice(0, -1).map((_, index) => `h${index}`),
  );
  await inFlight.drain(0, 0);
});
