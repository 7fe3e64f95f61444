/** Where each kind of provider is asked, and how the gateway identifies itself there. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PLAIN_NETWORK, type Provider, type ProviderKind, TIMEOUTS } from '../../../src/core/provider.ts';
import { addressOf } from '../../../src/provider/adapters.ts';

function provider(kind: ProviderKind, baseUrl: string, options: Record<string, unknown> = {}): Provider {
  return {
    name: 'p',
    kind,
    baseUrl,
    apiKeys: ['secret'],
    formats: ['chat', 'responses', 'messages'],
    timeouts: TIMEOUTS.read(),
    network: PLAIN_NETWORK,
    headers: { 'x-team': 'one' },
    chatLimitField: 'max_tokens',
    countsTokens: false,
    storesResponses: false,
    forwardsTraceparent: false,
    circuitBreaker: true,
    options,
  };
}

const NATIVE = { version: '2025-01-01', betas: 'a,b' };
const NOTHING = { version: null, betas: null };

describe('addresses', () => {
  test('openai: the path behind the base URL, a bearer credential', () => {
    const chat = addressOf(provider('openai', 'https://host/v1'), 'chat', 'm', 'secret', NATIVE);
    assert.ok(chat.via === 'http');
    assert.equal(chat.destination.origin + chat.destination.path, 'https://host/v1/chat/completions');
    assert.equal(chat.destination.headers.authorization, 'Bearer secret');
    assert.equal(chat.destination.headers['x-team'], 'one');
    assert.equal('anthropic-beta' in chat.destination.headers, false, 'headers of another protocol stay here');
    const responses = addressOf(provider('openai', 'http://127.0.0.1:8000'), 'responses', 'm', null, NOTHING);
    assert.ok(responses.via === 'http');
    assert.equal(responses.destination.path, '/responses');
    assert.equal('authorization' in responses.destination.headers, false);
  });

  test('azure: deployment paths, the api-version and the api-key header', () => {
    const azure = provider('azure', 'https://team.example', { api_version: '2025-04-01-preview' });
    const chat = addressOf(azure, 'chat', 'my deployment', 'secret', NOTHING);
    assert.ok(chat.via === 'http');
    assert.equal(
      chat.destination.path,
      '/openai/deployments/my%20deployment/chat/completions?api-version=2025-04-01-preview',
    );
    assert.equal(chat.destination.headers['api-key'], 'secret');
    assert.equal('authorization' in chat.destination.headers, false);
    const responses = addressOf(azure, 'responses', 'd', 'secret', NOTHING);
    assert.ok(responses.via === 'http');
    assert.equal(responses.destination.path, '/openai/v1/responses?api-version=2025-04-01-preview');
  });

  test('[R44] anthropic: the version as the client gave it, else the default; betas are passed on', () => {
    const anthropic = provider('anthropic', 'https://host');
    const native = addressOf(anthropic, 'messages', 'm', 'secret', NATIVE, '/count_tokens');
    assert.ok(native.via === 'http');
    assert.equal(native.destination.path, '/v1/messages/count_tokens');
    assert.equal(native.destination.headers['x-api-key'], 'secret');
    assert.equal(native.destination.headers['anthropic-version'], '2025-01-01');
    assert.equal(native.destination.headers['anthropic-beta'], 'a,b');
    const plain = addressOf(anthropic, 'messages', 'm', 'secret', NOTHING);
    assert.ok(plain.via === 'http');
    assert.equal(plain.destination.headers['anthropic-version'], '2023-06-01');
  });

  test('the same one is given again, and another one for whatever is different', () => {
    const anthropic = provider('anthropic', 'https://host');
    const first = addressOf(anthropic, 'messages', 'm', 'secret', NOTHING);
    assert.equal(addressOf(anthropic, 'messages', 'm', 'secret', { ...NOTHING }), first);
    const others = [
      addressOf(anthropic, 'messages', 'm', 'other', NOTHING),
      addressOf(anthropic, 'messages', 'm', null, NOTHING),
      addressOf(anthropic, 'messages', 'm', 'secret', { version: '2025-01-01', betas: null }),
      addressOf(anthropic, 'messages', 'm', 'secret', { version: null, betas: 'a' }),
      addressOf(anthropic, 'messages', 'm', 'secret', NOTHING, '/count_tokens'),
      addressOf({ ...anthropic }, 'messages', 'm', 'secret', NOTHING),
    ];
    for (const other of others) assert.notEqual(other, first);
    assert.ok(others[0]?.via === 'http' && others[3]?.via === 'http' && others[4]?.via === 'http');
    assert.equal(others[0].destination.headers['x-api-key'], 'other');
    assert.equal(others[3].destination.headers['anthropic-beta'], 'a');
    assert.equal(others[4].destination.path, '/v1/messages/count_tokens');
  });

  test('many of them in turn are still right', () => {
    const azure = provider('azure', 'https://team.example');
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 100; i++) {
        const address = addressOf(azure, 'chat', `d${i}`, `key ${i}`, NOTHING);
        assert.ok(address.via === 'http');
        assert.match(address.destination.path, new RegExp(`/deployments/d${i}/`));
        assert.equal(address.destination.headers['api-key'], `key ${i}`);
      }
    }
  });
});
