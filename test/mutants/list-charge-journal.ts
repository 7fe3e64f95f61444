/** Ways to break the journal of charges. */
import type { Mutant } from './list.ts';

const JOURNAL = 'test/unit/ledger/sqlite/charge-journal.test.ts';
const POWER_LOSS = 'test/unit/ledger/sqlite/power-loss.test.ts';
const STORE = 'ledger/sqlite/in-process-store.ts';
const TAIL = 'ledger/sqlite/charge-tail.ts';
const FILE = 'ledger/sqlite/charge-journal.ts';
const ENGINE = 'ledger/sqlite/engine.ts';

export const CHARGE_JOURNAL_MUTANTS: readonly Mutant[] = [
  {
    name: 'a charge goes into the journal while the disk may lack a commit before it',
    edits: [[STORE, 'this.#isOnDisk() ? this.#engine.chargeNow(batch) : null', 'this.#engine.chargeNow(batch)']],
    tests: [[JOURNAL, 'none is written while the disk may lack a commit']],
  },
  {
    name: 'a charge in the journal is told when the log was flushed, and not the journal',
    edits: [[STORE, 'if (this.#journalled) await this.#logs.charges.flushed();', 'if (this.#broken !== null) return;']],
    tests: [[POWER_LOSS, 'a loss of power at any flush']],
  },
  {
    name: 'after a commit, what it took from the journal is told when the journal was flushed',
    edits: [[STORE, '    this.#commits++;\n    this.#journalled = false;', '    this.#commits++;']],
    tests: [[POWER_LOSS, 'a loss of power at any flush']],
  },
  {
    name: 'charges of the journal count twice, in a backup that has them',
    edits: [
      [
        TAIL,
        '  for (const batch of journal.read(readJournalState(sql.cold))) writeBatch(sql, batch);\n  newGeneration(sql.cold);',
        '  for (const batch of journal.read(readJournalState(sql.cold))) writeBatch(sql, batch);',
      ],
    ],
    tests: [[JOURNAL, 'reports, a rollup and a backup']],
  },
  {
    name: 'charges of the journal count although the database has them',
    edits: [[TAIL, 'if (this.#charges === 0 && !this.#spoilt) return;', 'return;']],
    tests: [[JOURNAL, 'the journal counts no longer', 'a kill leaves them'], [POWER_LOSS]],
  },
  {
    name: 'nobody reads the journal of charges after a crash',
    edits: [[ENGINE, '    recoverCharges(sql, charges);\n', '']],
    tests: [[JOURNAL, 'a kill leaves them']],
  },
  {
    name: 'the owners are removed before the journal of charges is read',
    edits: [
      [
        ENGINE,
        "    recoverCharges(sql, charges);\n    database.exec('DELETE FROM owners');",
        "    database.exec('DELETE FROM owners');\n    recoverCharges(sql, charges);",
      ],
    ],
    tests: [[JOURNAL, 'a kill leaves them']],
  },
  {
    name: 'the journal of another release counts',
    edits: [[FILE, ' && ownersOf(one) === ownersOf(other)', '']],
    tests: [[JOURNAL, 'a release that does not know of journals']],
  },
  {
    name: 'after a rollback the charges of the journal are lost',
    edits: [[ENGINE, '      tail.restore();\n', '']],
    tests: [[JOURNAL, 'a transaction that fails loses none of them']],
  },
  {
    name: 'after a rollback memory decides without the charges of the journal',
    edits: [
      [ENGINE, 'if (keys.steadyMs > trustedUntilMs || tail.lost) return null;', 'if (tail.length < 0) return null;'],
    ],
    tests: [[JOURNAL, 'a transaction that fails loses none of them']],
  },
  {
    name: 'after a rollback the journal goes on without the charges it had',
    edits: [[TAIL, 'return !this.#lost && !this.#spoilt &&', 'return !this.#spoilt &&']],
    tests: [[JOURNAL, 'a transaction that fails loses none of them']],
  },
  {
    name: 'a record that could not be written may count',
    edits: [[TAIL, '    this.#spoilt = true;\n', '']],
    tests: [[JOURNAL, 'where the journal cannot be written']],
  },
  {
    name: 'a record that was cut short counts',
    edits: [[FILE, ' || crc32(body) !== bytes.readUInt32LE(at + 4)', '']],
    tests: [[JOURNAL, 'a record that was cut short']],
  },
  {
    name: 'a hold that the file has is ended in memory alone',
    edits: [[TAIL, ' || hold.persisted ||', ' ||']],
    tests: [[POWER_LOSS], ['test/unit/ledger/sqlite/in-process-store.test.ts']],
  },
  {
    name: 'how a hold has ended is not known while only the journal has it',
    edits: [['ledger/sqlite/charges.ts', 'if (waiting !== undefined) return', 'if (holdId === null) return']],
    tests: [[JOURNAL, 'one hold twice in a batch']],
  },
  {
    name: 'a report lacks what only the journal has',
    edits: [
      [
        STORE,
        'await this.#write(isOfEverything(operation));',
        'if (isOfEverything(operation)) await this.#write(true);',
      ],
    ],
    tests: [[JOURNAL, 'reports, a rollup and a backup']],
  },
  {
    name: 'a backup lacks what only the journal has',
    edits: [
      ['ledger/sqlite/backup.ts', "if (hasTable(copy, 'charge_journal')) {", "if (hasTable(copy, 'no_table')) {"],
    ],
    tests: [[JOURNAL, 'reports, a rollup and a backup']],
  },
];
