import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withoutKeys, withoutRequestText } from '../../../src/core/request-text.ts';

const SAID = 'Please wire 500 to account 12345678 before noon';

function body(value: unknown): Buffer {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
}

const CHAT = body({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: SAID }] });

describe('a message about a request', () => {
  test('loses what it quotes of the conversation, quoted or not', () => {
    assert.equal(withoutRequestText('invalid_request', `bad: "${SAID.slice(7, 15)}"`, CHAT), 'bad: "[…]"');
    assert.equal(withoutRequestText('upstream_error', `we read ${SAID} and stopped`, CHAT), 'we read […] and stopped');
    const system = body({ model: 'm', system: SAID, messages: [] });
    assert.equal(withoutRequestText('invalid_request', SAID, system), '[…]');
    assert.equal(withoutRequestText('invalid_request', SAID, body(`{"broken": "${SAID}`)), '[…]');
  });

  test('keeps the names of fields, and what a client has set rather than said', () => {
    const message = "Unsupported parameter: 'max_tokens' is not supported with the model 'm'.";
    assert.equal(withoutRequestText('invalid_request', message, CHAT), message);
  });

  test('is cut, and not looked through where it is a sentence of the gateway', () => {
    assert.equal(withoutRequestText('rate_limit_exceeded', SAID, CHAT), SAID);
    assert.equal(withoutRequestText('internal_error', 'x'.repeat(1_000), null).length, 300);
  });

  test('is not kept where the request is too large to be compared with it', () => {
    const large = body({ messages: [{ role: 'user', content: 'x'.repeat(9 * 1_024 * 1_024) }] });
    assert.match(withoutRequestText('invalid_request', SAID, large), /^The message is not kept/);
  });

  test('has no API key, whatever it is about', () => {
    assert.equal(
      withoutRequestText('internal_error', 'mg_c_0123456789abcdef and sk-0123456789', null),
      '[redacted] and [redacted]',
    );
    assert.equal(withoutKeys('mg_ and sk- alone'), 'mg_ and sk- alone');
  });
});
