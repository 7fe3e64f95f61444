import type { Mutant } from './list.ts';

const COVERED = 'test/gateway/billing/covered-output.test.ts';
const CUT = 'test/gateway/elastic-cut.test.ts';
const HIDDEN = 'test/gateway/billing/hidden-output.test.ts';
const SPEEDS = 'test/unit/routing/output-speeds.test.ts';

export const HOLD_MUTANTS: readonly Mutant[] = [
  {
    name: 'holds: a frame passes that is not covered',
    edits: [['wire/passthrough/passthrough.ts', 'this.#outputMax > this.#covered && !this.#isCovered()', 'false']],
    tests: [[CUT, 'nothing behind a frame that the hold does not cover is seen']],
  },
  {
    name: 'holds: a translated event passes that is not covered',
    edits: [['wire/translate/stream.ts', 'if (this.#meter.outputBytes > this.#covered) {', 'if (this.#covered < 0) {']],
    tests: [[CUT, 'nothing behind a frame that the hold does not cover is seen']],
  },
  {
    name: 'holds: what has come behind an uncovered frame is lost',
    edits: [
      ['wire/passthrough/passthrough.ts', 'if (frame.end < frame.bytes.length) behind', 'if (frame.end < 0) behind'],
    ],
    tests: [['test/gateway/elastic-wait.test.ts', 'waits, with keep-alives, and goes on when another one ends']],
  },
  {
    name: 'holds: at the end the hold is raised to all or nothing',
    edits: [['exchange/admission.ts', 'this.#raise(owed, NOTHING)', 'this.#raise(owed, owed)']],
    tests: [[COVERED, 'what was produced and not sent is charged as far as the hold goes']],
  },
  {
    name: 'holds: text is not counted before a stream ends',
    edits: [['exchange/elastic-hold.ts', "if (raised !== 'grown' && sample) {", "if (raised === 'grown' && sample) {"]],
    tests: [[COVERED, 'ends no stream']],
  },
  {
    name: 'holds: hidden output is not bounded by time',
    edits: [['exchange/elastic-hold.ts', 'if (speed === null) return 0;', 'if (speed !== 0) return 0;']],
    tests: [[HIDDEN, 'where the balance cannot carry more']],
  },
  {
    name: 'holds: hidden output is free for whoever goes away',
    edits: [
      [
        'exchange/unreported-output.ts',
        'return visible + Math.max(0, Math.min(this.hidden, this.#plan.outputLimit - visible));',
        'return visible;',
      ],
    ],
    tests: [[HIDDEN, 'pays for the time that the model has thought']],
  },
  {
    name: 'holds: a few streams are enough to know a speed',
    edits: [['routing/output-speeds.ts', 'const RECENT_MIN = 50;', 'const RECENT_MIN = 5;']],
    tests: [[SPEEDS, 'is not known before fifty streams']],
  },
  {
    name: 'holds: a speed has no margin',
    edits: [['routing/output-speeds.ts', 'total.largest * MARGIN', 'total.largest']],
    tests: [[SPEEDS, 'is not known before fifty streams']],
  },
  {
    name: 'a completed answer is given up without its charge',
    edits: [
      [
        'exchange/run.ts',
        "if (end?.kind === 'complete') await ignoreStoreFailure(",
        "if (end?.kind === 'failed') await ignoreStoreFailure(",
      ],
    ],
    tests: [['test/unit/exchange/give-up.test.ts']],
  },
];
