import type { Edit } from '../support/edits.ts';
import type { Mutant } from './list.ts';

const LOAD = 'ledger/postgres/load.ts';
const LIMIT_PLACES = 'ledger/postgres/limit-places.ts';
const LOADED_SET = 'ledger/postgres/loaded-set.ts';
const SAVE = 'ledger/postgres/save.ts';
const KEY_UNLOCKED: Edit = [
  'ledger/postgres/books.ts',
  "yield* query('SELECT gateway.lock_payers(ARRAY[$1])', keyId);",
  '',
];
/** The lock on keys that pay for themselves, and the one on roots. */
const UNLOCKED: readonly Edit[] = [[LOAD, 'ORDER BY a.key_id FOR UPDATE', 'ORDER BY a.key_id']];
const ROOTS_UNLOCKED: readonly Edit[] = [[LOAD, 'ORDER BY t.id FOR UPDATE', 'ORDER BY t.id']];

const CONTRACT_POSTGRES = 'test/contract/postgres.test.ts';
const IN_PROCESS_STORE = 'test/unit/ledger/sqlite/in-process-store.test.ts';
const RATE_SLOTS = 'test/unit/ledger/sqlite/rate-slots.test.ts';

export const LEDGER_MUTANTS: readonly Mutant[] = [
  {
    name: 'PostgreSQL: no account is locked, and the balance is overspent',
    edits: UNLOCKED,
    tests: [[CONTRACT_POSTGRES, '64 parallel requests over four gateways with balance for one']],
  },
  {
    name: 'PostgreSQL: no account is locked, and slots of the rate limit are lost',
    edits: UNLOCKED,
    tests: [[CONTRACT_POSTGRES, 'a settlement that meets admissions of other gateways']],
  },
  {
    name: 'PostgreSQL: no account is locked, and four gateways exceed the rate limit',
    edits: UNLOCKED,
    tests: [['test/resilience/chaos/postgres.test.ts', 'never more than the limit is admitted over all of them']],
  },
  {
    name: 'PostgreSQL: no account is locked, and settlements are lost',
    edits: UNLOCKED,
    tests: [[CONTRACT_POSTGRES, 'settlements, extensions and purchases over four gateways that meet']],
  },
  {
    name: 'PostgreSQL: a change of a key does not lock its account',
    edits: [KEY_UNLOCKED],
    tests: [[CONTRACT_POSTGRES, 'changes of a key through two gateways that meet']],
  },
  {
    name: 'PostgreSQL: an admission does not see that it was voided meanwhile',
    edits: [[LOAD, 'for (const row of voided) ends', 'for (const row of voided.slice(1)) ends']],
    tests: [[CONTRACT_POSTGRES, 'a hold that was admitted and voided is not admitted again', 'holds nothing for long']],
  },
  {
    name: 'PostgreSQL: the rate limit is off by one',
    edits: [
      ['ledger/postgres/places.ts', 'return place < this.#firstNumber ? 0', 'return place <= this.#firstNumber ? 0'],
    ],
    tests: [[CONTRACT_POSTGRES, '[R11] the wait is exact']],
  },
  {
    name: 'PostgreSQL: recovery ends the holds of the living',
    edits: [
      ['ledger/postgres/maintenance.ts', 'NOT EXISTS (SELECT FROM gateway.owners w WHERE w.id = h.owner)', 'TRUE'],
    ],
    tests: [[CONTRACT_POSTGRES, 'heartbeats keep a process and its holds alive']],
  },
  {
    name: 'PostgreSQL: a process that was declared dead holds balance',
    edits: [[LOADED_SET, 'return this.#loaded.living.has(owner);', "return owner !== '';"]],
    tests: [[CONTRACT_POSTGRES, 'a lost lease is taken up anew', '[F10]']],
  },
  {
    name: 'PostgreSQL: a late mark replaces a newer one',
    edits: [['ledger/postgres/rows.ts', "number: integerOrNull(detail, 'n') ?? 0,", 'number: 0,']],
    tests: [[CONTRACT_POSTGRES, 'a mark that arrives after a newer one changes nothing']],
  },
  {
    name: 'PostgreSQL: no root is locked, and its credit is overspent',
    edits: ROOTS_UNLOCKED,
    tests: [[CONTRACT_POSTGRES, '64 parallel requests below one root over three gateways with credit for one']],
  },
  {
    name: 'PostgreSQL: no root is locked, and sums of accounts are lost',
    edits: ROOTS_UNLOCKED,
    tests: [[CONTRACT_POSTGRES, 'settlements, extensions and purchases below one root that meet']],
  },
  {
    name: 'PostgreSQL: places of the rate limit of an account are not kept',
    edits: [[SAVE, 'const limited = [...keys, ...nodes]', 'const limited = [...keys]']],
    tests: [[CONTRACT_POSTGRES, 'the rate limit of an account counts every key below it']],
  },
  {
    name: 'PostgreSQL: a hold that a batch has ended is still waited for below an account',
    edits: [[LOADED_SET, 'if (ended.get(keyId, holdId)) continue;', '']],
    tests: [[CONTRACT_POSTGRES, 'decided with what ended and began at the same moment']],
  },
  {
    name: 'PostgreSQL: a hold that a batch has admitted is not waited for below an account',
    edits: [[LOADED_SET, 'for (const hold of this.changes.newHolds) {', 'for (const hold of new Set<Hold>()) {']],
    tests: [[CONTRACT_POSTGRES, 'decided with what ended and began at the same moment']],
  },
  {
    name: 'PostgreSQL: a key that joins a tree stays locked while its root is waited for',
    edits: [[LOAD, 'ELSE gateway.has_joined(a.key_id) END', 'ELSE false END']],
    tests: [[CONTRACT_POSTGRES, 'does not keep it locked when it joins a tree meanwhile']],
  },
  {
    name: 'SQLite: a tree that is read anew does not know the holds of keys that were not read yet',
    edits: [['ledger/sqlite/key-cache.ts', "{\n        this.get(text(row, 'key_id'));", '{']],
    tests: [['test/contract/sqlite.test.ts', 'a tree that is read anew knows what all of its keys hold']],
  },
  {
    name: 'PostgreSQL: keys go on with what an account allowed before',
    edits: [['ledger/books/accounts.ts', '  yield* inheritAnew(books, inHand);\n  if', '  if']],
    tests: [[CONTRACT_POSTGRES, 'a key carries what its accounts allow']],
  },
  {
    name: 'PostgreSQL: a refund is looked for at whoever pays now',
    edits: [['ledger/books/money.ts', '(yield* findRefund(keyId, chargeId, entryId)) ??', '']],
    tests: [[CONTRACT_POSTGRES, 'a refund that is sent again after the key joined']],
  },
  {
    name: 'PostgreSQL: nobody looks how a hold has ended that is not live',
    edits: [[LOADED_SET, "throw new NotLoaded('end', id, { holdId });", 'return null;']],
    tests: [[CONTRACT_POSTGRES, 'settle']],
  },
  {
    name: 'PostgreSQL: claims are not loaded',
    edits: [[LOAD, 'pairs(CLAIMS, needs.claims)', 'none']],
    tests: [[CONTRACT_POSTGRES, '[R23]']],
  },
  {
    name: 'PostgreSQL: sums of accounts are not saved',
    edits: [[SAVE, '  saveNodes(send, changes.nodes);\n', '']],
    tests: [[CONTRACT_POSTGRES, 'a hold is reserved at every level']],
  },
  {
    name: 'PostgreSQL: an extension is not saved with its hold',
    edits: [[SAVE, '  saveHolds(send, changes.changedHolds);\n', '']],
    tests: [[CONTRACT_POSTGRES, 'extend raises a hold to the amount']],
  },
  {
    name: 'PostgreSQL: the place that is waited for where a limit was lowered is not loaded',
    edits: [[LIMIT_PLACES, 'AND d.number <= p.rate_next - p.rpm_limit ORDER', 'AND d.number <= p.rate_first ORDER']],
    tests: [[CONTRACT_POSTGRES, 'below a lowered limit']],
  },
  {
    name: 'PostgreSQL: of the tokens that are waited for only the first are loaded',
    edits: [
      [LIMIT_PLACES, 'AND d.number < n.following - p.tpm_limit + u.more)', 'AND d.number < n.following - p.tpm_limit)'],
    ],
    tests: [[CONTRACT_POSTGRES, 'waits for those in the middle']],
  },
  {
    name: 'PostgreSQL: the window of a rate limit is a millisecond short',
    edits: [[LIMIT_PLACES, ', a.seen_ms) -', ', a.seen_ms) + 1 -']],
    tests: [[CONTRACT_POSTGRES, '[R11] the wait is exact']],
  },
  {
    name: 'PostgreSQL: the time of a place in a limit is that of the transaction, whatever it waited for',
    edits: [[LIMIT_PLACES, "timeAt('statement_timestamp()')", "timeAt('now()')"]],
    tests: [[CONTRACT_POSTGRES, 'takes its place in a limit when its turn has come']],
  },
  {
    name: 'PostgreSQL: limits that were asked for later are decided at the time before',
    edits: [[LOAD, 'loaded.nowMs = Math.max(loaded.nowMs, latest(rows));', '']],
    tests: [[CONTRACT_POSTGRES, 'takes its place in a limit when its turn has come']],
  },
  {
    name: 'PostgreSQL: a gateway that starts recovers at once',
    edits: [['ledger/postgres/store.ts', 'shared: true', 'shared: false']],
    tests: [[CONTRACT_POSTGRES, 'a gateway that starts ends no hold']],
  },
  {
    name: 'PostgreSQL: runs are written in the order in which they came',
    edits: [['ledger/books/runs.ts', 'of runs.toSorted(compareRuns)', 'of runs']],
    tests: [[CONTRACT_POSTGRES, 'runs that are written together are locked in one order']],
  },
  {
    name: 'SQLite: entries of the first millisecond are in the opening balance',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a part of the source.
    edits: [['ledger/books/statement.ts', 'WHERE b.at_ms < ${from}), 0)', 'WHERE b.at_ms <= ${from}), 0)']],
    tests: [['test/contract/sqlite.test.ts', 'what is booked in the first millisecond of a time']],
  },
  {
    name: 'SQLite: charges of the first millisecond are in the opening balance',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a part of the source.
    edits: [['ledger/books/statement.ts', 'AND e.at_ms < ${from}), 0)', 'AND e.at_ms <= ${from}), 0)']],
    tests: [['test/contract/sqlite.test.ts', 'what is booked in the first millisecond of a time']],
  },
  {
    name: 'SQLite: entries of the next time are in the statement',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a part of the source.
    edits: [['ledger/books/statement.ts', 'b.at_ms < ${until} ORDER', 'b.at_ms <= ${until} ORDER']],
    tests: [['test/contract/sqlite.test.ts', 'what is booked in the first millisecond of a time']],
  },
  {
    name: 'PostgreSQL: entries of the first millisecond are in the opening balance',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a part of the source.
    edits: [['ledger/books/statement.ts', 'WHERE b.at_ms < ${from}), 0)', 'WHERE b.at_ms <= ${from}), 0)']],
    tests: [[CONTRACT_POSTGRES, 'what is booked in the first millisecond of a time']],
  },
  {
    name: 'PostgreSQL: charges of the first millisecond are in the opening balance',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a part of the source.
    edits: [['ledger/books/statement.ts', 'AND e.at_ms < ${from}), 0)', 'AND e.at_ms <= ${from}), 0)']],
    tests: [[CONTRACT_POSTGRES, 'what is booked in the first millisecond of a time']],
  },
  {
    name: 'PostgreSQL: entries of the next time are in the statement',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a part of the source.
    edits: [['ledger/books/statement.ts', 'b.at_ms < ${until} ORDER', 'b.at_ms <= ${until} ORDER']],
    tests: [[CONTRACT_POSTGRES, 'what is booked in the first millisecond of a time']],
  },
  {
    name: 'SQLite: a clock that jumps ahead ends holds and leases',
    edits: [
      ['ledger/sqlite/maintenance.ts', 'const { sql, steadyMs } = keys;', 'const { sql, nowMs: steadyMs } = keys;'],
    ],
    tests: [['test/contract/sqlite.test.ts', 'a clock that jumps ahead ends no hold']],
  },
  {
    name: 'SQLite: a clock that jumps ahead opens rate limits',
    edits: [['ledger/sqlite/engine.ts', 'const steady = clock.steady ?? clock;', 'const steady = clock;']],
    tests: [['test/contract/sqlite.test.ts', 'a clock that jumps ahead ends no hold']],
  },
  {
    name: 'the calendar of a process stays behind a clock that jumps ahead',
    edits: [['core/clock.ts', 'if (aheadMs <= JUMP_MS) return', 'if (aheadMs <= 1e12) return']],
    tests: [['test/unit/core/clock.test.ts', 'follows a wall clock that jumps ahead']],
  },
  {
    name: 'SQLite: a refund is looked for at whoever pays now',
    edits: [['ledger/books/money.ts', '(yield* findRefund(keyId, chargeId, entryId)) ??', '']],
    tests: [['test/contract/sqlite.test.ts', 'a refund that is sent again after the key joined']],
  },
  {
    name: 'SQLite: a slot that one account took stays taken where the next one refuses',
    edits: [
      [
        'ledger/engine/admit.ts',
        'if (retryAfterMs === 0) continue;',
        'if (retryAfterMs === 0) {\n      keys.rates.takeRequest(node.account.id, node.window, nowMs);\n      continue;\n    }',
      ],
      [
        'ledger/engine/admit.ts',
        'if (account.rpmLimit !== null) keys.rates.takeRequest(account.id, above, keys.steadyMs);',
        '',
      ],
    ],
    tests: [['test/contract/sqlite.test.ts', 'the rate limit of an account counts every key below it']],
  },
  {
    name: 'SQLite: after a rollback a tree is read without the holds of keys that only memory has',
    edits: [
      [
        'ledger/sqlite/key-cache.ts',
        'if (holds.some(({ path }) => path?.endsWith(',
        'if (holds.some(({ path }) => path?.startsWith(',
      ],
    ],
    tests: [['test/unit/ledger/sqlite/tree.test.ts', 'after a failed commit']],
  },
  {
    name: 'SQLite: no connection waits for the disk (synchronous=OFF)',
    edits: [['ledger/sqlite/database.ts', 'PRAGMA synchronous = FULL;', 'PRAGMA synchronous = OFF;']],
    tests: [['test/unit/ledger/sqlite/settings.test.ts', '[F4]']],
  },
  {
    name: 'SQLite: the serving connection does not wait when the log begins anew (synchronous=OFF)',
    edits: [['ledger/sqlite/in-process-store.ts', "'PRAGMA synchronous = NORMAL;", "'PRAGMA synchronous = OFF;"]],
    tests: [[IN_PROCESS_STORE, 'SQLite itself waits for the disk when the log begins anew']],
  },
  {
    name: 'SQLite: batches never save the rates',
    edits: [['ledger/sqlite/rate-windows.ts', 'RATES_SAVE_MS = 250', 'RATES_SAVE_MS = Number.POSITIVE_INFINITY']],
    tests: [['test/unit/ledger/sqlite/settings.test.ts', '[R11]']],
  },
  {
    name: 'SQLite: a slot of the rate limit is not in the journal when its request is forwarded',
    edits: [
      [
        'ledger/sqlite/rate-windows.ts',
        'this.#journal.append({ keyId: id, number: window.nextNumber, atMs: nowMs });',
        '',
      ],
    ],
    tests: [[IN_PROCESS_STORE, 'a place in the rate limit survives a kill']],
  },
  {
    name: 'SQLite: a request is forwarded before its slots are in the journal',
    edits: [
      ['ledger/sqlite/engine.ts', 'if (keys.rates.writeJournal()) return outcome;', 'if (outcome) return outcome;'],
    ],
    tests: [
      [IN_PROCESS_STORE, 'a place in the rate limit survives a kill'],
      [RATE_SLOTS, 'all that an admission takes is one append'],
    ],
  },
  {
    name: 'SQLite: a hold stays whose slots could not be written',
    edits: [
      ['ledger/sqlite/engine.ts', 'if (hold !== null) takeBackHold(keys, operation.request.keyId, hold.id);', ''],
    ],
    tests: [[RATE_SLOTS, 'where the journal cannot be written nothing is admitted']],
  },
  {
    name: 'SQLite: slots stay taken that could not be written',
    edits: [['ledger/sqlite/rate-windows.ts', '      this.#takeBack();\n      return false;', '      return false;']],
    tests: [[RATE_SLOTS, 'where the journal cannot be written nothing is admitted']],
  },
  {
    name: 'a charge is acknowledged before it is on the disk',
    edits: [['ledger/port.ts', 'settle: durableHot<', 'settle: hot<']],
    tests: [['test/unit/ledger/sqlite/power-loss.test.ts', 'a loss of power at any flush']],
  },
  {
    name: 'an answer is replayed before its charge is on the disk',
    edits: [
      [
        'ledger/group-commit/durability.ts',
        "return operation.op === 'admit' && result !== null && 'kind' in result && result.kind === 'replay';",
        'return result === undefined;',
      ],
    ],
    tests: [[IN_PROCESS_STORE], ['test/unit/ledger/group-commit/batcher.test.ts']],
  },
  {
    name: 'a flush that failed is taken for a good one',
    edits: [['ledger/sqlite/in-process-store.ts', '      throw this.#breakByDisk(error);', '      void error;']],
    tests: [[IN_PROCESS_STORE]],
  },
  {
    name: 'a batch that failed loses its marks',
    edits: [['ledger/group-commit/batcher.ts', '      this.#keepMarks(marks);', '']],
    tests: [['test/unit/ledger/group-commit/batcher.test.ts', 'again when its batch failed']],
  },
  {
    name: 'an admission whose acknowledgement was lost keeps its hold',
    edits: [['ledger/ledger.ts', 'orphaned.add({ holdId: hold.id, keyId, runId: hold.run?.id });', 'void hold;']],
    tests: [['test/resilience/chaos/store-failures.test.ts', 'a hold whose acknowledgement was lost is given back']],
  },
  {
    name: 'after an outage the first to come back declares all others dead',
    edits: [['ledger/maintenance.ts', 'if (nowMs() >= recoverFromMs) await', 'await']],
    tests: [['test/unit/ledger/maintenance.test.ts']],
  },
  {
    name: 'the audit overlooks what is kept as used',
    edits: [['ledger/rules/audit-findings.ts', "['used', sum('used'), credit ? sum('entries_charged') : 0n],", '']],
    tests: [['test/contract/sqlite.test.ts', 'the audit names what does not add up']],
  },
  {
    name: 'a key that moves leaves its usage with the account that it had',
    edits: [['reports/sqlite/account-days.ts', 'if (has(state, moved)) add(sql, moved);', '']],
    tests: [['test/contract/sqlite.test.ts', 'however keys move']],
  },
  {
    name: 'usage by account is read while keys have moved',
    edits: [['reports/sqlite/account-days.ts', 'return current && !moved ?', 'return current ?']],
    tests: [['test/contract/sqlite.test.ts', 'however keys move']],
  },
  {
    name: 'usage by account lacks what an older release has added',
    edits: [['reports/sqlite/account-days.ts', 'return current && !moved ?', 'return !moved ?']],
    tests: [['test/unit/reports/sqlite.test.ts', 'what a release without the rollup by account']],
  },
  {
    name: 'PostgreSQL: two gateways add to the rollups at the same time',
    edits: [['reports/postgres/rollup.ts', 'if (lock?.taken !== true)', 'if (lock === undefined)']],
    tests: [[CONTRACT_POSTGRES, 'while another gateway adds to the rollups']],
  },
  {
    name: 'PostgreSQL: keys are not locked in one order',
    edits: [
      [
        'ledger/postgres/load.ts',
        'ORDER BY a.key_id FOR UPDATE',
        'ORDER BY md5(a.key_id || pg_backend_pid()) FOR UPDATE',
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'batches that name their keys in any order']],
  },
  {
    name: 'PostgreSQL: charges that are written together are counted again',
    edits: [
      [
        'reports/postgres/rollup.ts',
        'WHERE charges < $1))\n    RETURNING',
        'WHERE charges < $1) AND false)\n    RETURNING',
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'what no rollup counts yet is not removed']],
  },
  {
    name: 'PostgreSQL: the cost of a call is taken for its charge',
    edits: [[SAVE, 'cost === amount ? null : cost,', 'null,']],
    tests: [[CONTRACT_POSTGRES, 'charges that are written together leave a usage record each']],
  },
  {
    name: 'PostgreSQL: a cancelled call does not say which model it was',
    edits: [[SAVE, '([{ call }]) => call?.model]', '([{ usage }]) => usage?.model]']],
    tests: [[CONTRACT_POSTGRES, '[R49] usage reports']],
  },
  {
    name: 'PostgreSQL: usage records are removed that no rollup counts yet',
    edits: [['ledger/postgres/maintenance.ts', "'at_ms', rolledUp('unrolled_batches')]", "'at_ms']"]],
    tests: [[CONTRACT_POSTGRES, 'what no rollup counts yet is not removed']],
  },
  {
    name: 'a failure of the rollups makes the gateway say that it is not ready',
    edits: [['ledger/maintenance.ts', 'if (vital) healthy = false;', 'healthy = false;']],
    tests: [['test/unit/ledger/maintenance.test.ts', 'a failure of the rollups']],
  },
];
