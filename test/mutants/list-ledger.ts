import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Edit } from '../support/edits.ts';
import type { Mutant } from './list.ts';

const MIGRATIONS = 'ledger/migrations/postgres';
const source = resolve(import.meta.dirname, '../../src');
/** In the order in which they are applied: the functions as they are now come last. */
const migrations = readdirSync(join(source, MIGRATIONS))
  .toSorted()
  .map((name) => `${MIGRATIONS}/${name}`);

function textOf(file: string): string {
  return readFileSync(join(source, file), 'utf8');
}

/** The migration that counts for this function: the last one that defines it. */
function definitionOf(name: string): string {
  const file = migrations.findLast((one) => textOf(one).includes(`FUNCTION gateway.${name}(`));
  if (file === undefined) throw new Error(`no migration defines ${name}`);
  return file;
}

const APPLY_BATCH = definitionOf('apply_batch');
const WRITE_BATCH = definitionOf('write_batch');
const CLAIM_OBSTACLE = definitionOf('claim_obstacle');
const RECOVER_HOLDS = definitionOf('recover_holds');

const LOCK_PAYERS = definitionOf('lock_payers');
const APPLY_TREE = definitionOf('apply_tree');
const KEY_UNLOCKED: Edit = [
  'ledger/postgres/books.ts',
  "yield* query('SELECT gateway.lock_payers(ARRAY[$1])', keyId);",
  '',
];
/** The lock on keys that pay for themselves, and the one on roots. */
const UNLOCKED: readonly Edit[] = [[LOCK_PAYERS, 'ORDER BY a.key_id FOR UPDATE;', 'ORDER BY a.key_id;']];
const ROOTS_UNLOCKED: readonly Edit[] = [[LOCK_PAYERS, 'ORDER BY id FOR UPDATE;', 'ORDER BY id;']];

const CONTRACT_POSTGRES = 'test/contract/postgres.test.ts';
const IN_PROCESS_STORE = 'test/unit/ledger/sqlite/in-process-store.test.ts';

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
    edits: [[APPLY_BATCH, 'IF o.was_voided THEN', 'IF false THEN', 2]],
    tests: [[CONTRACT_POSTGRES, 'a hold that was admitted and voided is not admitted again', 'holds nothing for long']],
  },
  {
    name: 'PostgreSQL: what others hold is not looked at',
    edits: [[APPLY_BATCH, 'IF means - a.reserved < amount OR', 'IF means < amount OR']],
    tests: [[CONTRACT_POSTGRES, '[R15] credit: too little is insufficient']],
  },
  {
    name: 'PostgreSQL: the rate limit is off by one',
    edits: [[APPLY_BATCH, 'IF place >= a.rate_first THEN', 'IF place > a.rate_first THEN']],
    tests: [[CONTRACT_POSTGRES, '[R11] the wait is exact']],
  },
  {
    name: 'PostgreSQL: another request under the same claim is replayed',
    edits: [[CLAIM_OBSTACLE, 'IF c.fingerprint <> o_fingerprint THEN', 'IF false THEN']],
    tests: [[CONTRACT_POSTGRES, '[R23]']],
  },
  {
    name: 'PostgreSQL: recovery ends the holds of the living',
    edits: [[RECOVER_HOLDS, 'NOT EXISTS (SELECT FROM owners w WHERE w.id = h.owner)', 'TRUE']],
    tests: [[CONTRACT_POSTGRES, 'heartbeats keep a process and its holds alive']],
  },
  {
    name: 'PostgreSQL: a process that was declared dead holds balance',
    edits: [[APPLY_BATCH, 'o.o <> ALL (living) THEN', 'false THEN', 2]],
    tests: [[CONTRACT_POSTGRES, 'a lost lease is taken up anew', '[F10]']],
  },
  {
    name: 'PostgreSQL: a late mark replaces a newer one',
    edits: [[WRITE_BATCH, "coalesce((h.mark_detail ->> 'n')::bigint, 0) <=", '0 <=']],
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
    name: 'PostgreSQL: caps of accounts are not asked for credit',
    edits: [[APPLY_TREE, 'means := n.credit_cap - n.credit_used;', 'means := amount_max;']],
    tests: [[CONTRACT_POSTGRES, 'the first level that refuses decides']],
  },
  {
    name: 'PostgreSQL: caps of accounts are not asked for tokens',
    edits: [[APPLY_TREE, 'means := coalesce(n.token_cap, amount_max) - n.tokens_used;', 'means := amount_max;']],
    tests: [[CONTRACT_POSTGRES, 'token caps of accounts count the keys of both modes']],
  },
  {
    name: 'PostgreSQL: what others below the root hold is not looked at',
    edits: [[APPLY_TREE, 'IF means - reserved < wanted OR', 'IF means < wanted OR']],
    tests: [[CONTRACT_POSTGRES, 'the first level that refuses decides']],
  },
  {
    name: 'PostgreSQL: a hold is reserved at its key alone',
    edits: [[APPLY_TREE, 'n.reserved := n.reserved + most;', '']],
    tests: [[CONTRACT_POSTGRES, 'a hold is reserved at every level']],
  },
  {
    name: 'PostgreSQL: token-budget keys spend the credit of the root',
    edits: [
      [
        APPLY_TREE,
        'IF credit THEN\n          n.reserved := n.reserved - o.held;',
        'IF NOT credit THEN\n          n.used := n.used + most;\n        END IF;\n        IF credit THEN\n          n.reserved := n.reserved - o.held;',
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'token-budget keys never spend credit']],
  },
  {
    name: 'PostgreSQL: the rate limit of an account does not count',
    edits: [
      [
        APPLY_TREE,
        'CONTINUE WHEN n.rpm_limit IS NULL;\n              n.rate_next',
        'CONTINUE;\n              n.rate_next',
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'the rate limit of an account counts every key below it']],
  },
  {
    name: 'PostgreSQL: places of the rate limit of an account are not kept',
    edits: [[APPLY_TREE, 'IF cardinality(node_next) > 0 THEN', 'IF false THEN']],
    tests: [[CONTRACT_POSTGRES, 'the rate limit of an account counts every key below it']],
  },
  {
    name: 'PostgreSQL: places that a batch has taken below an account are forgotten before its end',
    edits: [[APPLY_TREE, 'IF node_next[j] IS NULL THEN', 'IF true THEN']],
    tests: [[CONTRACT_POSTGRES, 'requests that come at once take exactly the places']],
  },
  {
    name: 'PostgreSQL: a hold that a batch has ended is still waited for below an account',
    edits: [
      [
        APPLY_TREE,
        `ELSE h.root_id = root AND node_ids[j] = ANY (h.path) END
              AND NOT EXISTS`,
        `ELSE h.root_id = root AND node_ids[j] = ANY (h.path) END
              OR EXISTS`,
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'decided with what ended and began at the same moment']],
  },
  {
    name: 'PostgreSQL: a hold that a batch has admitted is not waited for below an account',
    edits: [[APPLY_TREE, 'count(*) = CASE WHEN j = 0 THEN a.live_holds ELSE (nodes[j]).live_holds END - 1', 'true']],
    tests: [[CONTRACT_POSTGRES, 'decided with what ended and began at the same moment']],
  },
  {
    name: 'PostgreSQL: a key that joins a tree stays locked while its root is waited for',
    edits: [[LOCK_PAYERS, 'ELSE gateway.has_joined(a.key_id) END', 'ELSE false END']],
    tests: [[CONTRACT_POSTGRES, 'does not keep it locked when it joins a tree meanwhile']],
  },
  {
    name: 'PostgreSQL: recovery forgets the tokens of a call',
    edits: [
      [RECOVER_HOLDS, "'w', ((f.mark_detail ->> 'ti')::bigint + (f.mark_detail ->> 'tu')::bigint)::text, 'r',", "'r',"],
    ],
    tests: [[CONTRACT_POSTGRES, 'what a dead process marked is charged at every level']],
  },
  {
    name: 'SQLite: a tree that is read anew does not know the holds of keys that were not read yet',
    edits: [['ledger/sqlite/key-cache.ts', "{\n        this.get(text(row, 'key_id'));", '{']],
    tests: [['test/contract/sqlite.test.ts', 'a tree that is read anew knows what all of its keys hold']],
  },
  {
    name: 'PostgreSQL: tokens of output are not counted for a key that pays for itself',
    edits: [[APPLY_BATCH, 'PERFORM count_tokens(o.k, o.tu, now_ms);', 'PERFORM 1;', 2]],
    tests: [[CONTRACT_POSTGRES, 'output may exceed the limit']],
  },
  {
    name: 'PostgreSQL: a refusal by a limit on tokens takes a place in the limit on requests',
    edits: [
      [
        APPLY_BATCH,
        `results[o.i] := '{"rate":' || rate_json(a, now_ms) || ',"account":false,' || obstacle`,
        `a.rate_next := a.rate_next + 1;
          results[o.i] := '{"rate":' || rate_json(a, now_ms) || ',"account":false,' || obstacle`,
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'a request that one limit refuses counts in no other']],
  },
  {
    name: 'PostgreSQL: limits of accounts on tokens and parallel requests are not asked',
    edits: [[APPLY_TREE, 'CONTINUE WHEN n.tpm_limit IS NULL AND n.parallel_limit IS NULL;', 'CONTINUE;']],
    tests: [[CONTRACT_POSTGRES, 'limits of accounts count every key below them']],
  },
  {
    name: 'PostgreSQL: keys go on with what an account allowed before',
    edits: [['ledger/books/accounts.ts', '  yield* inheritAnew(books, inHand);\n  if', '  if']],
    tests: [[CONTRACT_POSTGRES, 'a key carries what its accounts allow']],
  },
  {
    name: 'PostgreSQL: a repeat of a key is refused by its limits on tokens and parallel requests',
    edits: [
      [
        'ledger/migrations/postgres/functions.sql',
        'AND repeated IS NULL AND amount IS NULL\n        AND o.h IS NOT NULL THEN',
        'AND amount IS NULL AND o.h IS NOT NULL THEN',
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'a repeat is asked for its place in requests per minute']],
  },
  {
    name: 'PostgreSQL: a repeat of a key below an account is refused by limits on tokens and parallel requests',
    edits: [
      [
        'ledger/migrations/postgres/functions.sql',
        'IF o.h IS NOT NULL AND repeated IS NULL AND obstacle IS NULL THEN',
        'IF o.h IS NOT NULL AND obstacle IS NULL THEN',
      ],
    ],
    tests: [[CONTRACT_POSTGRES, 'a repeat is asked for its place in requests per minute']],
  },
  {
    name: 'PostgreSQL: a refund is looked for at whoever pays now',
    edits: [['ledger/books/money.ts', '(yield* findRefund(keyId, chargeId, entryId)) ??', '']],
    tests: [[CONTRACT_POSTGRES, 'a refund that is sent again after the key joined']],
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
        'ledger/sqlite/admit.ts',
        'if (retryAfterMs === 0) continue;',
        'if (retryAfterMs === 0) {\n      keys.rates.takeRequest(node.account.id, node.window, nowMs);\n      continue;\n    }',
      ],
      [
        'ledger/sqlite/admit.ts',
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
    name: 'a charge is acknowledged before it is on the disk',
    edits: [['ledger/port.ts', 'settle: durableHot<', 'settle: hot<']],
    tests: [[IN_PROCESS_STORE, 'a loss of power at any flush']],
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
    edits: [
      ['ledger/ledger.ts', 'orphaned.add({ holdId: request.hold.id, keyId: request.keyId });', 'void request.hold;'],
    ],
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
    name: 'PostgreSQL: a cancelled call does not say which model it was',
    edits: [['ledger/postgres/encode.ts', 'usage === null && request.call ?', 'usage !== null && request.call ?']],
    tests: [[CONTRACT_POSTGRES, '[R49] usage reports']],
  },
  {
    name: 'PostgreSQL: usage records are removed that no rollup counts yet',
    edits: [['ledger/postgres/maintenance.ts', "'at_ms', ROLLED_UP]", "'at_ms']"]],
    tests: [[CONTRACT_POSTGRES, 'what no rollup counts yet is not removed']],
  },
  {
    name: 'a failure of the rollups makes the gateway say that it is not ready',
    edits: [['ledger/maintenance.ts', 'if (vital) healthy = false;', 'healthy = false;']],
    tests: [['test/unit/ledger/maintenance.test.ts', 'a failure of the rollups']],
  },
];
