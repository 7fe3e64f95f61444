/** The torture's own judgement: each thing that must not happen is found where it has happened. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AccountView } from '../../src/admin/accounts/schema.ts';
import type { CreatedKey, KeyView } from '../../src/admin/keys/schema.ts';
import type { Charge } from '../support/charges.ts';
import { type Account, type Call, levelViolations, newCall, rateViolation, violationsOf } from './book.ts';

const TOKENS = { input: 10, output: 5 };
const COST = 30_000;

function call(requestId: string, seen: Partial<Call> = {}): Call {
  return { ...newCall(), requestId, status: 200, tokens: TOKENS, ...seen };
}

function account(calls: Call[], kind: Account['kind'] = 'calls', creditNanos = 1_000_000): Account {
  return { key: { id: 'key' } as CreatedKey, creditNanos, kind, calls, digest: null };
}

function charge(id: string, nanos = COST): Charge {
  return { keyId: 'key', id, nanos };
}

function judged(subject: Account, charges: readonly Charge[], view: Partial<KeyView> = {}): string {
  const used = charges.reduce((sum, { nanos }) => sum + nanos, 0) / 1e9;
  return violationsOf(subject, { used, reserved: 0, live_holds: 0, ...view } as KeyView, charges).join('\n');
}

describe('the book', () => {
  test('finds nothing where every complete answer is charged once, and a replay is not', () => {
    assert.equal(
      judged(account([call('a'), call('b'), call('c', { replayed: true })]), [charge('a'), charge('b')]),
      '',
    );
    assert.equal(judged(account([call('a', { tokens: null })]), [charge('a', 4_000)]), '');
    assert.equal(judged(account([call('a', { tokens: null, status: 503 })]), []), '');
  });

  test('finds an answer that was seen complete and is not charged, or charged with something else', () => {
    assert.match(judged(account([call('a')]), []), /a was seen complete and is not charged/);
    assert.match(judged(account([call('a')]), [charge('a', COST - 1)]), /costs 30000 and was charged 29999/);
  });

  test('finds a second charge of one Idempotency-Key, and charges that nobody asked for', () => {
    const twice = [call('a', { tokens: null }), call('b')];
    assert.match(judged(account(twice, 'once'), [charge('a'), charge('b')]), /charged 2 times/);
    assert.equal(judged(account(twice), [charge('a'), charge('b')]), '');
    assert.match(judged(account([call('a')]), [charge('a'), charge('z')]), /more charges than calls/);
  });

  test('finds an overspent balance by what the client saw, and by what was charged', () => {
    const calls = [call('a'), call('b')];
    const poor = account(calls, 'tiny', COST + 1);
    assert.match(judged(poor, [charge('a')]), /answers worth 60000 were seen on a credit of 30001: overspent/);
    assert.match(judged(poor, [charge('a'), charge('b')]), /60000 were charged on a credit of 30001: overspent/);
  });

  test('finds a hold that was never ended, totals that differ from their charges, and statuses that nothing explains', () => {
    assert.match(judged(account([call('a')]), [charge('a')], { live_holds: 1, reserved: 0.1 }), /1 holds of 0.1/);
    assert.match(judged(account([call('a')]), [charge('a')], { used: 0.1 }), /used is 0.1/);
    assert.match(
      judged(account([call('a', { status: 500, code: 'internal_error', tokens: null })]), []),
      /500 internal_error/,
    );
  });

  test('[F37] finds an overspent level of a tree, and totals that differ from those of its keys', () => {
    const level = { id: 'acc', name: 'team', limitNanos: COST, spenders: [account([])] };
    const judge = (charges: readonly Charge[], view: Partial<AccountView> = {}): string =>
      levelViolations(level, { used: COST / 1e9, reserved: 0, live_holds: 0, ...view } as AccountView, charges).join(
        '\n',
      );
    assert.equal(judge([charge('a'), { ...charge('b'), keyId: 'a key beside it' }]), '');
    assert.match(
      judge([charge('a'), charge('b')], { used: (2 * COST) / 1e9 }),
      /60000 were charged .* at most 30000: overspent/,
    );
    assert.match(judge([charge('a')], { used: 0 }), /used is 0, its keys make 0.00003/);
    assert.match(judge([charge('a')], { live_holds: 1, reserved: 0.1 }), /1 holds of 0.1/);
  });

  test('finds more calls than the limit that lie whole within 60 seconds, and no others', () => {
    const at = (sentAtMs: number, endedAtMs: number) => ({ ...call(String(sentAtMs)), sentAtMs, endedAtMs });
    const limited = account([at(0, 10), at(100, 110), at(59_000, 59_900)], 'limited');
    assert.match(rateViolation(limited, 2) ?? '', /3 calls were served within 60 s at a limit of 2/);
    assert.equal(rateViolation(limited, 3), null);
    // The last one may have been admitted after the first had left the window.
    assert.equal(rateViolation(account([at(0, 10), at(100, 110), at(59_000, 60_100)], 'limited'), 2), null);
  });
});
