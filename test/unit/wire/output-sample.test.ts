import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OutputSample } from '../../../src/wire/output-sample.ts';

const BYTES_MAX = 16 * 1_024;

/** The content of a JSON string as a frame holds it: one character for each byte. */
function content(text: string, ascii = false): string {
  const json = JSON.stringify(text).slice(1, -1);
  const escaped = ascii
    ? json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : json;
  return Buffer.from(escaped).toString('latin1');
}

function escapedSample(...texts: readonly string[]): OutputSample {
  const sample = new OutputSample();
  for (const text of texts) if (!sample.full) sample.addEscaped(`"${text}"`, 1, text.length + 1);
  return sample;
}

describe('a sample of generated text', () => {
  test('is what the pieces say, one after the other', () => {
    assert.equal(new OutputSample().text(), '');
    const pieces = ['Say "hi"\n', '\\ and ', '日本語 😀 ', 'x'.repeat(500)];
    assert.equal(escapedSample(...pieces.map((piece) => content(piece))).text(), pieces.join(''));
    assert.equal(escapedSample(...pieces.map((piece) => content(piece, true))).text(), pieces.join(''));
    const sample = new OutputSample();
    for (const piece of pieces) sample.addText(piece);
    assert.equal(sample.text(), pieces.join(''));
  });

  for (const [what, text] of Object.entries({
    'an escape': '"',
    'two bytes': 'ö',
    'three bytes': '語',
    'a pair': '😀',
  })) {
    test(`[R68] is bounded, and is text also where the bound falls into ${what}`, () => {
      for (let shift = 0; shift < 12; shift++) {
        const long = 'a'.repeat(shift) + text.repeat(BYTES_MAX);
        for (const ascii of [false, true]) {
          const sample = escapedSample(content(long, ascii));
          assert.ok(sample.full);
          const said = sample.text().replace(/\uFFFD+$/u, '');
          assert.ok(said.length > 1_000 && long.startsWith(said), `shift ${shift}`);
        }
        const sample = new OutputSample();
        sample.addText(long);
        assert.ok(sample.full && Buffer.byteLength(sample.text()) <= BYTES_MAX);
        assert.ok(long.startsWith(sample.text()));
      }
    });
  }

  test('takes nothing after its end', () => {
    const sample = escapedSample('seen');
    sample.close();
    assert.ok(sample.full);
    assert.equal(sample.text(), 'seen');
  });
});
