import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shownName, withoutConversation, withoutKeys, withoutRequestText } from '../../../src/core/request-text.ts';

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

  test('loses it however it is written down', () => {
    const said = ['Name: Bob', 'PIN: 4711', 'DOB: 1/2/80', 'She said "hi" & left for the Höhe <b>of the Löwe</b>'].join(
      '\n',
    );
    const request = body({ model: 'm', messages: [{ role: 'user', content: said }] });
    const escaped = (text: string): string =>
      JSON.stringify(text).replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const html = said
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('"', '&#34;')
      .replaceAll('ö', '&#xF6;');
    for (const [form, quotation] of Object.entries({
      json: JSON.stringify(said),
      'json in json': JSON.stringify(JSON.stringify(said)),
      'json in ASCII': escaped(said),
      html,
      address: encodeURIComponent(said),
      form: new URLSearchParams({ said }).toString().slice('said='.length),
      'upper case': said.toUpperCase(),
      'other lines': said.replaceAll(' ', '\n  '),
      'bytes of Python': `b'${said.replaceAll('ö', '\\xc3\\xb6').replaceAll('\n', '\\n')}'`,
    })) {
      const kept = withoutRequestText('invalid_request', `Refused: ${quotation} is not allowed.`, request);
      assert.match(kept, /^Refused: b?\W*\[…\].{0,12} is not allowed\.$/, form);
    }
    const wide = '密码是八八八八请不要告诉别人';
    const chinese = body({ messages: [{ role: 'user', content: `你好,${wide}` }] });
    for (const quotation of [wide, escaped(wide), wide.slice(3, 7)]) {
      const kept = withoutRequestText('invalid_request', `Refused ${quotation}.`, chinese);
      assert.match(kept, /^Refused "?\[…\]"?\.$/);
    }
  });

  test('loses a short text that it quotes as a whole, but not a word that is also in a longer one', () => {
    const short = body({ messages: [{ role: 'user', content: 'pin: 4711' }] });
    assert.equal(withoutRequestText('invalid_request', 'Bad input: PIN 4711!', short), 'Bad input: […]!');
    assert.equal(withoutRequestText('invalid_request', 'Bad input: spin 47110', short), 'Bad input: spin 47110');
    const message = 'The account is over its limit';
    assert.equal(withoutRequestText('invalid_request', message, CHAT), message);
  });

  test('loses what is said below fields that mostly have one of a few values, and names of the client', () => {
    const schema = {
      type: 'object',
      properties: {
        type: { type: 'string', description: 'the customer John Doe of Berlin' },
        role: { type: 'string', description: 'whether he is the payer' },
        salary_of_doe: { type: 'number' },
      },
      required: ['type'],
    };
    const tools = [{ type: 'function', function: { name: 'pay', parameters: schema } }];
    const request = body({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], tools });
    const about = (message: string): string => withoutRequestText('invalid_request', message, request);
    assert.equal(about('no: the customer John Doe of Berlin'), 'no: […]');
    assert.equal(about('no: whether he is the payer'), 'no: […]');
    assert.equal(about("no: 'salary_of_doe'"), "no: '[…]'");
    const useful =
      "Invalid schema: 'required' must have every key in 'properties'; see tools[0].function.parameters.type";
    assert.equal(about(useful), useful);
    assert.equal(withoutRequestText('invalid_request', `no: ${SAID}`, body({ model: 'm', note: SAID })), 'no: […]');
    assert.equal(
      withoutRequestText('invalid_request', `Unknown field ${SAID}`, body({ [SAID]: 1 })),
      'Unknown field […]',
    );
  });

  test('of a provider loses what it quotes of the answer, and is not kept where that is too long', () => {
    const answer = 'The patient has a rare disease. ';
    const message = `output filtered: The patient has a rare dis, for ${SAID}`;
    assert.equal(withoutConversation(message, { sent: CHAT, answer }), 'output filtered: […], for […]');
    assert.match(withoutConversation(message, { sent: CHAT, answer: null }), /^The message is not kept/);
    assert.equal(withoutConversation('The provider is overloaded.', null), 'The provider is overloaded.');
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

  test('names what the client calls by a name, and no sentence', () => {
    assert.equal(shownName('web_search_20250305'), 'web_search_20250305');
    assert.equal(shownName(SAID), '[…]');
  });
});
