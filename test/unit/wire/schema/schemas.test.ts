import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../../src/core/conditions.ts';
import { CatalogModelList } from '../../../../src/endpoints/models-schema.ts';
import { UsageSummary } from '../../../../src/endpoints/usage-schema.ts';
import { ChatResponse } from '../../../../src/wire/chat/schema.ts';
import { CountResponse, MessageResponse } from '../../../../src/wire/messages/schema.ts';
import { ResponsesResponse } from '../../../../src/wire/responses/schema.ts';
import { ErrorA, ErrorB } from '../../../../src/wire/schema/error-envelopes.ts';
import { validator } from '../../../../src/wire/schema/validate.ts';

function paramOf(check: (value: unknown) => unknown, value: unknown): string | undefined {
  try {
    check(value);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.param ?? error.message;
  }
  return 'accepted';
}

const SUMMARY = {
  object: 'usage.summary',
  key: { prefix: 'mg_c_1234567', label: null, status: 'active', mode: 'credit', provider_scope: 'all' },
  credits: {
    total_purchased: 5,
    balance: 4.5,
    reserved: 0,
    used: 0.5,
    remaining: 4.5,
    remaining_usd: 4.5,
    last_request_cost: 0.1,
    today_spend: 0.1,
    lifetime_spend: 0.5,
  },
  tokens: { budget: null, used: 0, reserved: 0, remaining: null, input: 1, output: 2, total: 3 },
  requests: { total: 1 },
  explanation: '4.5 credits are left.',
};

describe('schemas', () => {
  test('[R35] objects without other fields refuse them by path, at every level', () => {
    const usage = validator(UsageSummary);
    assert.equal(paramOf(usage, SUMMARY), 'accepted');
    assert.equal(paramOf(usage, { ...SUMMARY, extra: 1 }), 'extra');
    assert.equal(paramOf(usage, { ...SUMMARY, key: { ...SUMMARY.key, secret: 'x' } }), 'key.secret');
    assert.equal(paramOf(usage, { ...SUMMARY, credits: { ...SUMMARY.credits, x: 1 } }), 'credits.x');
    assert.equal(paramOf(usage, { ...SUMMARY, tokens: { ...SUMMARY.tokens, used: -1 } }), 'tokens.used');
    assert.equal(paramOf(usage, { ...SUMMARY, requests: {} }), 'requests.total');
    assert.equal(paramOf(usage, { ...SUMMARY, key: { ...SUMMARY.key, rpm_limit: 0 } }), 'key.rpm_limit');
    assert.equal(paramOf(validator(CountResponse), { input_tokens: 3, output_tokens: 1 }), 'output_tokens');
  });

  test('the model list is closed, its models are open', () => {
    const list = validator(CatalogModelList);
    const model = { id: 'm', object: 'model', created: 1, owned_by: 'o', context_window: null, anything: true };
    assert.equal(paramOf(list, { object: 'list', data: [model] }), 'accepted');
    assert.equal(paramOf(list, { object: 'list', data: [model], has_more: false }), 'has_more');
    assert.equal(
      paramOf(list, { object: 'list', data: [{ ...model, max_output_tokens: 0 }] }),
      'data[0].max_output_tokens',
    );
    assert.equal(paramOf(list, { object: 'list', data: [{ ...model, display_name: null }] }), 'data[0].display_name');
  });

  test('answers and envelopes have what the interface requires, and may have more', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, extra: {} };
    assert.equal(
      paramOf(validator(ChatResponse), { id: 'x', object: 'o', model: 'm', choices: [{}], usage, x: 1 }),
      'accepted',
    );
    assert.equal(
      paramOf(validator(ChatResponse), { id: 'x', object: 'o', model: 'm', choices: [], usage: {} }),
      'usage.prompt_tokens',
    );
    assert.equal(paramOf(validator(ResponsesResponse), { id: 'x', object: 'response' }), 'accepted');
    const message = { id: 'x', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null };
    assert.equal(paramOf(validator(MessageResponse), message), 'accepted');
    assert.equal(paramOf(validator(MessageResponse), { ...message, role: 'user' }), 'role');
    assert.equal(
      paramOf(validator(ErrorA), { error: { message: 'x', type: 't', code: 'c', param: null, more: 1 } }),
      'accepted',
    );
    assert.equal(paramOf(validator(ErrorA), { error: { message: 'x', type: 't' } }), 'error.code');
    assert.equal(paramOf(validator(ErrorB), { type: 'error', error: { type: 't', message: 'm' } }), 'accepted');
  });

  test('[R35] a union names the branch that was meant, or all of them', () => {
    assert.equal(paramOf(validator(ErrorA), 'text'), 'The request body must be an object.');
    const check = validator(MessageResponse);
    assert.throws(
      () => check({ id: 'x', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 5 }),
      {
        message: 'stop_reason must be a string or null.',
      },
    );
  });
});
