import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keptMessage, shownName, withoutKeys } from '../../../src/core/request-text.ts';

const SAID = 'Please wire 500 to account 12345678 before noon';

describe('what is kept of a message', () => {
  test('a sentence of the gateway is kept, with the names in it', () => {
    for (const message of [
      'The balance of 0.5 credits does not cover this request.',
      'The model "openai/gpt-5.1:free" is not in the catalog.',
      'messages[0].content[2].type is required.',
    ]) {
      assert.equal(keptMessage(message), message);
    }
  });

  test('what it quotes is kept only where that is a name, whatever quotation marks are in it', () => {
    assert.equal(keptMessage(`The role "${SAID}" is not supported.`), 'The role "[…]" is not supported.');
    assert.equal(keptMessage(`The role "a" ${SAID} "b" is not supported.`), 'The role "[…]" is not supported.');
    assert.equal(keptMessage(`The role ${JSON.stringify(`"${SAID}`)} is odd.`), 'The role "[…]" is odd.');
    assert.equal(keptMessage('An odd " mark'), 'An odd "[…]');
  });

  test('the path of a field is kept only where it has names alone', () => {
    assert.equal(keptMessage(`${SAID} is given more than once.`, SAID), '[…] is given more than once.');
    assert.equal(keptMessage('tools[0].x-y is given twice.', 'tools[0].x-y'), 'tools[0].x-y is given twice.');
  });

  test('it is cut', () => {
    assert.equal(keptMessage('x'.repeat(1_000)).length, 300);
  });

  test('it has no API key', () => {
    assert.equal(keptMessage('mg_c_0123456789abcdef and sk-0123456789'), '[redacted] and [redacted]');
    assert.equal(withoutKeys('mg_ and sk- alone'), 'mg_ and sk- alone');
  });

  test('names what the client calls by a name, and no sentence', () => {
    assert.equal(shownName('web_search_20250305'), 'web_search_20250305');
    assert.equal(shownName(SAID), '[…]');
  });
});
