import type { Mutant } from './list.ts';

const RUNS = 'test/gateway/runs/runs.test.ts';
const LIMITS = 'test/gateway/runs/limits.test.ts';
const REPLICAS = 'test/gateway/runs/replicas.test.ts';
const SQLITE = 'test/contract/sqlite.test.ts';
const POSTGRES = 'test/contract/postgres.test.ts';
const LOST = 'a run whose process died is lost with its hold';

export const RUN_MUTANTS: readonly Mutant[] = [
  {
    name: 'the end of a run is not stored with its charge',
    edits: [['ledger/engine/hold.ts', '  if (request.run) keys.endRun(hold.keyId, request.run);\n', '']],
    tests: [[RUNS, 'is answered at once, shown at every stage']],
  },
  {
    name: 'a run outlives its dead process in the embedded store',
    edits: [['ledger/sqlite/maintenance.ts', '  performCold(sql.cold, loseRuns(keys.nowMs));\n', '']],
    tests: [[SQLITE, LOST]],
  },
  {
    name: 'a run outlives its dead process on PostgreSQL',
    edits: [
      [
        'ledger/postgres/maintenance.ts',
        '  await performIn((sql, values) => connection.query(sql, values), loseRuns(nowMs));\n',
        '',
      ],
    ],
    tests: [[POSTGRES, LOST]],
  },
  {
    name: 'events are taken for a run that has ended',
    edits: [
      [
        'ledger/books/runs.ts',
        "states.set(run, row === undefined ? 'ended' : flag",
        "states.set(run, row === undefined ? 'running' : flag",
      ],
    ],
    tests: [[SQLITE, LOST]],
  },
  {
    name: 'runs of a key are not limited',
    edits: [['ledger/engine/admit.ts', '() => true) >= key.runsLimit', '() => true) > key.runsLimit']],
    tests: [[SQLITE, 'no more runs at a time than the key and its accounts allow']],
  },
  {
    name: 'runs of an account are not limited',
    edits: [['ledger/engine/admit.ts', 'runs >= account.runsLimit', 'runs > account.runsLimit']],
    tests: [[SQLITE, 'no more runs at a time than the key and its accounts allow']],
  },
  {
    name: 'the claim of a run that was not charged is free again',
    edits: [['ledger/engine/hold.ts', '  if (hold.run) {\n', '  if (hold.run && hold.claimName === undefined) {\n']],
    tests: [[SQLITE, 'its claim still leads to it']],
  },
  {
    name: 'a provider is asked for background work',
    edits: [['exchange/background.ts', "    { path: ['background'], json: null },\n", '']],
    tests: [[RUNS, 'is answered at once, shown at every stage']],
  },
  {
    name: 'a cancelled run has no usage record',
    edits: [
      [
        'exchange/exchange.ts',
        "const recorded = outcome !== 'cancelled' || this.run !== null;",
        "const recorded = outcome !== 'cancelled';",
      ],
    ],
    tests: [[RUNS, 'is cancelled, also twice']],
  },
  {
    name: 'whoever takes up a run gets events again',
    edits: [['exchange/run-reader.ts', 'first > after ? bytes : framesAfter(bytes, after)', 'bytes']],
    tests: [[RUNS, 'its events can be taken up anywhere']],
  },
  {
    name: 'readers of a run are never closed',
    edits: [['exchange/run-reader.ts', 'this.#closed || performance.now() >= this.#endAt', 'this.#closed']],
    tests: [[LIMITS, 'streams are closed at streams.total without a terminal event']],
  },
  {
    name: 'a run is not limited by the time of runs but by that of streams',
    edits: [['exchange/make-plan.ts', 'request.run ? policy.runs.totalMs : ', '']],
    tests: [[LIMITS, 'streams are closed at streams.total without a terminal event']],
  },
  {
    name: 'a run may have any number of events',
    edits: [['exchange/background-run.ts', "    if (this.#isFull) this.#stop('run_size');\n", '']],
    tests: [[LIMITS, 'runs.event_bytes']],
  },
  {
    name: 'a gateway does not hear that its run was cancelled through another one',
    edits: [['exchange/run-journal.ts', "      if (states[index] !== 'running') run.stop('cancelled');\n", '']],
    tests: [[REPLICAS, 'a run is cancelled, repeated and deleted through another replica']],
  },
  {
    name: 'DELETE leaves a live run alone',
    edits: [
      [
        'endpoints/stored-response.ts',
        '  const run = await endRun(gateway, keyId, id);\n  const stored',
        '  const run = await gateway.ledger.findRun(keyId, { id });\n  const stored',
      ],
    ],
    tests: [[RUNS, 'is deleted while it lives']],
  },
];
