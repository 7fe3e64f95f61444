/** Ways to break the ledger on purpose. Each must be noticed, or the simulation would not notice the real mistake either. */
import type { Edit } from '../support/edits.ts';
import { LIMIT_MUTATIONS } from './mutations-limits.ts';
import { MONEY_MUTATIONS, REPEATED_ENTRY_IGNORED as REPEATED_BOOKING_IGNORED } from './mutations-money.ts';
import { REPORT_MUTATIONS } from './mutations-reports.ts';
import { TREE_MUTATIONS } from './mutations-tree.ts';

export interface Mutation {
  readonly name: string;
  /** Of files below `src/ledger`. */
  readonly edits: readonly Edit[];
}

const SCHEMA = 'migrations/sqlite/0001-ledger.sql';
/** The schema's own checks would notice many of these by themselves; without them only the simulation can. */
const WITHOUT_BALANCE_CHECK = [SCHEMA, "CHECK (mode <> 'credit' OR purchased - used - reserved >= 0),", ''] as const;
const WITHOUT_RESERVED_CHECK = [
  SCHEMA,
  'reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0)',
  'reserved INTEGER',
] as const;
const REPEATED_ENTRY_IGNORED = ['sqlite/statements.ts', "'INTO entries'", "'OR IGNORE INTO entries'"] as const;

export const MUTATIONS: readonly Mutation[] = [
  ...TREE_MUTATIONS,
  ...LIMIT_MUTATIONS,
  ...MONEY_MUTATIONS,
  {
    name: 'a second settlement charges again',
    edits: [
      ['engine/hold.ts', 'state.holds.delete(hold.id);', ''],
      REPEATED_ENTRY_IGNORED,
      WITHOUT_BALANCE_CHECK,
      WITHOUT_RESERVED_CHECK,
    ],
  },
  {
    name: 'a settlement after a void is applied',
    edits: [
      [
        'engine/hold.ts',
        'release(keys, state, hold);\n  keys.addVoided',
        'state.reserved -= hold.amount;\n  keys.markDirty(state);\n  hold.amount = 0n;\n  keys.addVoided',
      ],
    ],
  },
  {
    name: 'a void does nothing',
    edits: [
      ['engine/hold.ts', "voidHold(keys, state, hold);\n  return { kind: 'voided' }", "return { kind: 'voided' }"],
    ],
  },
  {
    name: 'what an ended hold reserved stays reserved',
    edits: [['engine/hold.ts', 'reserve(state, nodes, -hold.amount, -hold.tokens, -1);', 'state.liveHolds--;']],
  },
  {
    name: 'an ended hold stays in the table',
    edits: [['sqlite/key-cache.ts', 'this.sql.deleteHold.run(hold.keyId, hold.id);', '']],
  },
  {
    name: 'the rate limit is off by one',
    edits: [['sqlite/rate-window.ts', 'this.count - limit;', 'this.count - limit - 1;']],
  },
  {
    name: 'the rate window is one millisecond short',
    edits: [['sqlite/rate-window.ts', '<= nowMs - RATE_WINDOW_MS', '<= nowMs - RATE_WINDOW_MS + 1']],
  },
  {
    name: 'a restart forgets the rate window',
    edits: [
      [
        'sqlite/engine.ts',
        "database.exec('DELETE FROM owners');",
        "database.exec('DELETE FROM owners; DELETE FROM rates');",
      ],
    ],
  },
  {
    name: 'a limit that was ahead of a clock set back stays closed',
    edits: [['sqlite/engine.ts', 'json_group_array(min(value, ?1))', 'json_group_array(value)']],
  },
  {
    name: 'a mark does not persist the hold that only memory has',
    edits: [
      [
        'sqlite/key-cache.ts',
        'if (!hold.persisted) this.persist(state, hold);',
        'if (!hold.persisted) hold.persisted = true;',
      ],
    ],
  },
  {
    name: 'a rollback forgets what only memory has',
    edits: [['sqlite/key-cache.ts', 'if (holds.length > 0) unpersisted', 'if (holds.length < 0) unpersisted']],
  },
  {
    name: 'a rollback forgets a hold that it had ended',
    edits: [['sqlite/key-cache.ts', '      unpersisted.add(hold);\n', '']],
  },
  {
    name: 'what a rolled-back batch took of the rate limit stays taken',
    edits: [['sqlite/rate-windows.ts', 'for (const window of this.#taken) window.undo();', '']],
  },
  {
    name: 'a place in the rate limit is forgotten at a crash before it was saved',
    edits: [
      ['sqlite/rate-windows.ts', 'this.#journal.append({ keyId: id, number: window.nextNumber, atMs: nowMs });', ''],
    ],
  },
  {
    name: 'the journal of rates is emptied before all of it is saved',
    edits: [['sqlite/rate-windows.ts', ' && !this.unwritten) this.#journal', ') this.#journal']],
  },
  {
    name: 'a start does not read the journal of rates',
    edits: [['sqlite/engine.ts', 'saveJournal(sql, journal.read())', 'saveJournal(sql, [])']],
  },
  {
    name: 'a start reads saved places from the journal of rates again',
    edits: [
      ['sqlite/rate-journal.ts', 'number > saved', 'number >= 0'],
      ['sqlite/rate-windows.ts', 'if (this.#journal.position > 0 && !this.unwritten) this.#journal.truncate(0);', ''],
    ],
  },
  {
    name: 'recovery does not see what only memory has',
    edits: [['sqlite/maintenance.ts', '  keys.persistAll();\n', '']],
  },
  {
    name: 'the file counts holds that it does not have',
    edits: [['sqlite/rows.ts', 'state.used,\n    state.persistedReserved,\n', 'state.used,\n    state.reserved,\n']],
  },
  { name: 'a budget period is not rolled over', edits: [['rules/key-totals.ts', 'totals.periodUsed = 0n;', '']] },
  { name: 'the spend of a day is not rolled over', edits: [['rules/key-totals.ts', 'totals.daySpend = 0n;', '']] },
  {
    name: 'a void does not free its claim',
    edits: [
      [
        'engine/hold.ts',
        'if (hold.claimName !== null) keys.deleteClaim',
        'if (hold.claimName === undefined) keys.deleteClaim',
      ],
    ],
  },
  {
    name: 'a settlement does not end its claim',
    edits: [['engine/hold.ts', 'if (hold.claimName !== null) endClaim', 'if (hold.claimName === undefined) endClaim']],
  },
  {
    name: 'a claim is forgotten too early',
    edits: [['operations.ts', 'CLAIM_KEEP_MS = DAY_MS', 'CLAIM_KEEP_MS = 60_000']],
  },
  {
    name: 'recovery charges twice',
    edits: [
      ['engine/recover.ts', 'charge(keys, state, hold, {', 'state.used += mark.charge;\n  charge(keys, state, hold, {'],
      WITHOUT_BALANCE_CHECK,
    ],
  },
  {
    name: 'recovery charges what was never marked',
    edits: [
      [
        'engine/recover.ts',
        'const { mark } = hold;',
        'const mark = hold.mark ?? { number: 0, charge: hold.amount, tokens: NONE, call: null, durationMs: 0 };',
      ],
      [
        'engine/recover.ts',
        "import { totalTokens } from '../../core/usage.ts';",
        "import { NO_TOKENS as NONE, totalTokens } from '../../core/usage.ts';",
      ],
    ],
  },
  {
    name: 'recovery charges the whole hold',
    edits: [['engine/recover.ts', 'charge: mark.charge,', 'charge: hold.amount,']],
  },
  {
    name: 'recovery takes the holds of the living',
    edits: [['sqlite/maintenance.ts', 'owner NOT IN (SELECT id FROM owners)', 'TRUE']],
  },
  {
    name: 'a lease lasts a millisecond longer',
    edits: [['sqlite/maintenance.ts', 'lease_until_ms <= ?', 'lease_until_ms < ?']],
  },
  {
    name: 'a process that lost its lease may go on',
    edits: [['engine/admit.ts', '!keys.isLiving(owner)', 'owner === undefined']],
  },
  {
    name: 'credit is held beyond the balance',
    edits: [
      [
        'rules/levels.ts',
        'if (available - reserved < withRoom(held, wanted.room))',
        'if ((inTokens || by.node !== null) && available - reserved < withRoom(held, wanted.room))',
      ],
      WITHOUT_BALANCE_CHECK,
    ],
  },
  {
    name: 'the budget check ignores what is reserved',
    edits: [
      [
        'rules/levels.ts',
        'if (available - reserved < withRoom(held, wanted.room))',
        'if ((!inTokens || by.node !== null) && available - reserved < withRoom(held, wanted.room))',
      ],
    ],
  },
  {
    name: 'an extension ignores what others hold',
    edits: [
      ['rules/levels.ts', 'by.available - by.reserved)', 'by.available - (by.node === null ? 0n : by.reserved))'],
      WITHOUT_BALANCE_CHECK,
    ],
  },
  {
    name: 'an extension is not reserved',
    edits: [['engine/hold.ts', 'reserve(state, nodes, moreAmount, moreTokens, 0);', ''], WITHOUT_RESERVED_CHECK],
  },
  {
    name: 'an admission whose acknowledgement was lost holds again',
    edits: [
      ['engine/admit.ts', 'if (previous !== null) return', 'if (previous === undefined) return'],
      [
        'sqlite/statements.ts',
        'addHold: prepare(`\n      INSERT INTO holds',
        'addHold: prepare(`\n      INSERT OR REPLACE INTO holds',
      ],
    ],
  },
  {
    name: 'a charge may exceed its hold',
    edits: [
      ['engine/hold.ts', 'const charged = clamped ? hold.amount : request.charge;', 'const charged = request.charge;'],
      [SCHEMA, "CHECK (kind <> 'charge' OR amount <= held)", 'CHECK (TRUE)'],
      WITHOUT_BALANCE_CHECK,
    ],
  },
  {
    name: 'a revoked key is admitted',
    edits: [
      ['engine/admit.ts', "if (status !== 'active') return", "if (status !== 'active' && status !== 'revoked') return"],
    ],
  },
  {
    name: 'a decision by an old copy of the key counts',
    edits: [['engine/admit.ts', 'state.key.version !== request.keyVersion', 'state.key.version < request.keyVersion']],
  },
  {
    name: 'a purchase that is sent again is booked again',
    edits: [
      ['books/money.ts', 'if (booked !== undefined) {', 'if (booked !== undefined && createdAtMs === null) {'],
      REPEATED_BOOKING_IGNORED,
    ],
  },
  {
    name: 'what a failed commit had changed stays in memory',
    edits: [
      [
        'sqlite/engine.ts',
        'keys.rolledBack();\n      tail.rolledBack();\n      rollBack(database);',
        'rollBack(database);',
      ],
    ],
  },
  {
    name: 'after a failed commit the charges of the journal are lost',
    edits: [['sqlite/engine.ts', '      tail.restore();\n', '']],
  },
  {
    name: 'charges of the journal are lost with the process',
    edits: [['sqlite/engine.ts', '    recoverCharges(sql, charges);\n', '']],
  },
  {
    name: 'charges of the journal count again after a restart',
    edits: [['sqlite/charge-tail.ts', 'if (this.#charges === 0 && !this.#spoilt) return;', 'return;']],
  },
  {
    name: 'sums are not written when a hold ends',
    edits: [
      [
        'engine/hold.ts',
        'keys.markDirty(state);\n  keys.holdChanges(hold);\n  const',
        'keys.holdChanges(hold);\n  const',
      ],
    ],
  },
  {
    name: 'a bad operation takes the others of its batch along',
    edits: [
      [
        'sqlite/engine.ts',
        "database.exec('ROLLBACK TO operation');",
        "database.exec('ROLLBACK'); database.exec('BEGIN');",
      ],
    ],
  },
  {
    name: 'a hold that has ended is admitted anew when its admission is sent again',
    edits: [['sqlite/key-cache.ts', 'this.#ended(state, hold.id);', '']],
  },
  {
    name: 'a settlement or an admission does not see the charges of its own batch',
    edits: [['sqlite/charges.ts', 'if (waiting !== undefined) return', 'if (holdId === null) return']],
  },
  {
    name: 'a new period is counted without the charges of its own batch',
    edits: [['sqlite/handlers.ts', 'keys.flush();\n  return performCold', 'return performCold']],
  },
  {
    name: 'a void of an unknown hold leaves no trace for its admission',
    edits: [['engine/hold.ts', 'if (end === null) keys.addVoided(state, holdId, 0n);', '']],
  },
  {
    name: 'a void of an unknown hold is not looked for by its admission',
    edits: [
      [
        'sqlite/key-cache.ts',
        'this.sql.addVoided.run(state.key.id, holdId, held, this.nowMs);\n    this.#ended(state, holdId);',
        'this.sql.addVoided.run(state.key.id, holdId, held, this.nowMs);',
      ],
    ],
  },
  {
    name: 'a hold that was voided is admitted again',
    edits: [
      [
        'engine/admit.ts',
        "if (end.kind === 'voided') throw",
        "if (end.kind === 'voided') return null;\n  if (holdId === '') throw",
      ],
    ],
  },
  {
    name: 'a late mark replaces a newer one',
    edits: [['engine/hold.ts', ' || number < (hold.mark?.number ?? 0)) continue;', ') continue;']],
  },
  {
    name: 'a restart forgets which mark was the newest',
    edits: [['sqlite/rows.ts', 'return { number, charge, tokens', 'return { number: number * 0, charge, tokens']],
  },
  {
    name: 'charges of a batch that failed are written with the next one',
    edits: [['sqlite/key-cache.ts', 'this.sql.charges.drop();', '']],
  },
  {
    name: 'a hold that takes what there is gets more than is free',
    edits: [['rules/levels.ts', 'return held + smaller(wanted - held, larger(free, 0n));', 'return wanted;']],
  },
  {
    name: 'an extension that would do with less is refused',
    edits: [['engine/balance.ts', 'amountMin: smaller(amountMin, amount),', 'amountMin: amount,']],
  },
  {
    name: 'no room is left for others',
    edits: [['rules/levels.ts', 'return held * BigInt(1 + room);', 'return held * BigInt(1 + room * 0);']],
  },
  {
    name: 'no hold gives way where all wait for each other',
    edits: [
      [
        'engine/balance.ts',
        'mustYield(holdsAt(keys, state, decision.by), hold) ?',
        'decision.by.node !== null && mustYield(holdsAt(keys, state, decision.by), hold) ?',
      ],
    ],
  },
  {
    name: 'the oldest hold gives way instead of the youngest',
    edits: [['engine/balance.ts', 'isYounger(other, hold))', 'isYounger(hold, other))']],
  },
  {
    name: 'a hold gives way though another one does not wait',
    edits: [['engine/balance.ts', '!other.waiting || ', '']],
  },
  {
    name: 'a hold that was extended still counts as waiting',
    edits: [['engine/hold.ts', 'const waiting = decision.kind', 'const waiting = hold.waiting || decision.kind']],
  },
  {
    name: 'a rollback forgets that a hold waits',
    edits: [['rules/row-mapping.ts', "waiting: flag(row, 'waiting'),", 'waiting: false,']],
  },
  ...REPORT_MUTATIONS,
];
