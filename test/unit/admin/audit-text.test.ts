import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditText } from '../../../src/cli/text.ts';

test('an audit at a terminal lists the charges that are flagged, and says where there are more of them', () => {
  const report = { ok: true, keys: 1, entries: 9, live_holds: 0, flagged: 2, findings: [] };
  const [first, second] = [
    '2026-11-19T12:00:01.000Z req_b of key_1: recovered',
    '2026-11-19T12:00:00.000Z req_a of key_1: odd',
  ];
  const head = 'OK: every balance equals its entries (1 keys, 9 entries, 0 live holds).';
  assert.deepEqual(auditText({ ...report, flagged_charges: [first, second] }), [
    head,
    '2 charges are flagged for review:',
    `  ${first}`,
    `  ${second}`,
  ]);
  assert.deepEqual(auditText({ ...report, flagged_charges: [first] }).slice(1), [
    '2 charges are flagged for review, the newest 1:',
    `  ${first}`,
  ]);
  // What is known of the last audit has no list.
  assert.deepEqual(auditText(report).slice(1), ['2 charges are flagged for review.']);
  assert.deepEqual(auditText({ ...report, flagged: 0, flagged_charges: [] }), [head]);
});
