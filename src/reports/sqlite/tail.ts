/** The charges that the rollups do not count yet, summed up as finely as they are: a report adds them to what it reads there. */
import type { UsageQuery } from '../../core/usage-report.ts';
import { text, textOrNull } from '../../storage/columns.ts';
import { namesKeys, type UsagePlace } from '../sources.ts';
import { type ChargeFact, chargesBehind, readWatermark, type Tallied, Tallies } from './rollup.ts';
import { list } from './rollup-query.ts';
import type { ColdStatements } from './statements.ts';

/** For one connection that reads what is committed: until charges are added to the rollups, each is read once for all reports. */
export class UsageTail {
  #version = -1;
  #number = 0;
  #unrolled = 0;
  #tallies = new Tallies();

  read(sql: ColdStatements, query: UsageQuery): readonly Tallied[] {
    const { version, number } = readWatermark(sql);
    if (version !== this.#version) {
      this.#version = version;
      this.#number = number;
      this.#unrolled = 0;
      this.#tallies = new Tallies();
    }
    for (const fact of chargesBehind(sql, true, this.#number)) this.#number = this.#add(fact);
    for (const fact of chargesBehind(sql, false, this.#unrolled)) this.#unrolled = this.#add(fact);
    return namesKeys(query) ? named(sql, this.#tallies.all) : this.#tallies.all;
  }

  #add({ number, place, sums, firstByteMs, durationMs }: ChargeFact): number {
    this.#tallies.at(place).addCharge(sums, firstByteMs, durationMs);
    return number;
  }
}

/** With the labels and accounts that keys have now. */
function named(sql: ColdStatements, tallied: readonly Tallied[]): readonly Tallied[] {
  const keyIds = new Set(tallied.map(({ place }) => place.keyId));
  const rows = sql('SELECT id, label, account_id FROM keys WHERE id IN (SELECT value FROM json_each(?))').all(
    list(keyIds),
  );
  const names = new Map<string, Pick<UsagePlace, 'label' | 'accountId'>>(
    rows.map((row) => [text(row, 'id'), { label: textOrNull(row, 'label'), accountId: textOrNull(row, 'account_id') }]),
  );
  return tallied.map(({ place, tally }) => ({ place: { ...place, ...names.get(place.keyId) }, tally }));
}
