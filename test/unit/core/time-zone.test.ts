/** Days of time zones: where they begin, also when clocks are changed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localDay, localTime, momentAt, offsetsWithin, timeZoneNamed } from '../../../src/core/time-zone.ts';

const HOUR_MS = 3_600_000;
const at = (text: string): number => Date.parse(text);

describe('a time zone', () => {
  test('is known by its name, in any case of letters, and anything else is none', () => {
    assert.equal(timeZoneNamed('europe/berlin'), 'Europe/Berlin');
    assert.equal(timeZoneNamed('UTC'), 'UTC');
    for (const wrong of ['', 'Mars/Olympus', 'Europe/Berlin; DROP TABLE', '\0'])
      assert.equal(timeZoneNamed(wrong), null);
  });

  test('has days of 23 and 25 hours when its clocks are changed', () => {
    const day = (date: string): number => momentAt('Europe/Berlin', at(`${date}T00:00Z`));
    assert.equal(new Date(day('2026-03-29')).toISOString(), '2026-03-28T23:00:00.000Z');
    assert.equal(day('2026-03-30') - day('2026-03-29'), 23 * HOUR_MS);
    assert.equal(day('2026-10-26') - day('2026-10-25'), 25 * HOUR_MS);
  });

  test('gives a time that clocks leave out to the moment at which they are put ahead, and of two the first', () => {
    assert.equal(momentAt('Europe/Berlin', at('2026-10-25T02:30Z')), at('2026-10-25T00:30Z'));
    const missing = momentAt('Europe/Berlin', at('2026-03-29T02:30Z'));
    assert.ok(missing >= at('2026-03-29T01:00Z') && missing < at('2026-03-29T02:00Z'), new Date(missing).toISOString());
  });

  test('tells the offsets of a year, and the day of every hour from them', () => {
    for (const zone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia']) {
      const [sinceMs, untilMs] = [at('2026-01-01T00:00Z'), at('2027-01-01T00:00Z')];
      const offsets = offsetsWithin(zone, sinceMs, untilMs);
      for (let hourMs = sinceMs; hourMs < untilMs; hourMs += 7 * HOUR_MS) {
        const shown = new Date(localTime(zone, hourMs)).toISOString().slice(0, 10);
        assert.equal(new Date(localDay(offsets, hourMs)).toISOString().slice(0, 10), shown, `${zone} ${hourMs}`);
      }
    }
    assert.equal(localDay(undefined, at('2026-05-01T23:59Z')), at('2026-05-01T00:00Z'));
  });
});
