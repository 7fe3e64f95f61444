/** Ways to break what reports count: rollups, usage records and cancelled calls. */
import type { Mutation } from './mutations.ts';

export const REPORT_MUTATIONS: readonly Mutation[] = [
  {
    name: 'the watermark of the rollups stays where it is',
    edits: [['../reports/sqlite/rollup.ts', 'SET number = ?, version', 'SET number = number + 0 * ?, version']],
  },
  {
    name: 'a cancelled call is added to the rollups again and again',
    edits: [['../reports/sqlite/rollup.ts', "sql('DELETE FROM unrolled WHERE number <= ?').run(step.unrolledTo);", '']],
  },
  {
    name: 'usage records are removed that no rollup counts yet',
    edits: [['sqlite/maintenance.ts', ' AND number <= (SELECT number FROM usage_watermark)', '']],
  },
  {
    name: 'the number of a removed usage record is given again',
    edits: [['sqlite/maintenance.ts', ' AND number < (SELECT max(number) FROM usage)', '']],
  },
  {
    name: 'the entry of a cancelled call does not say which model it was',
    edits: [['engine/hold.ts', 'request.usage ?? request.call ?? null', 'request.usage']],
  },
  {
    name: 'a cancelled call is in no report',
    edits: [['sqlite/charges.ts', 'sql.unrolled.add([hold.keyId, hold.id]);', '']],
  },
  {
    name: 'a report leaves out what no rollup counts yet',
    edits: [['../reports/sqlite/report.ts', 'catchingUp ? [] : kept', '!catchingUp ? [] : kept']],
  },
];
