/** Body bytes → a valid request. What is wrong with it is kept until the request has taken its place in the rate limit. */
import { GatewayError } from '../core/conditions.ts';
import type { Policy } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import { FORMATS } from '../wire/formats.ts';
import { parseBody } from '../wire/parse.ts';
import { type AdmitOrder, fingerprintOf } from './admit.ts';
import type { Arrival } from './arrival.ts';
import type { ReplyNotes } from './client.ts';
import type { RequestHeaders } from './headers.ts';
import { resolve } from './resolve.ts';
import type { ValidRequest } from './valid-request.ts';

const IDEMPOTENCY_KEY_CHARACTERS_MAX = 255;

export interface Reading {
  /** The request, or the refusal that its body has earned. */
  valid(): ValidRequest;
  order(catalog: Catalog, policy: Policy, notes: ReplyNotes): AdmitOrder;
}

export function read(arrival: Arrival): Reading {
  const result = tryRead(arrival);
  const valid = (): ValidRequest => {
    if ('refusal' in result) throw result.refusal;
    return result;
  };
  return {
    valid,
    order: (catalog, policy, notes) => ({
      requestId: arrival.requestId,
      caller: arrival.caller,
      idempotencyKey: arrival.headers.get('idempotency-key'),
      fingerprint: () => fingerprintOf('POST', arrival.path, valid().bytes),
      choices: 'refusal' in result ? 1 : result.facts.choices,
      decide: ({ key }, counted) => {
        const plan = resolve({ catalog, policy, key, endpoint: arrival.endpoint }, valid(), counted);
        checkIdempotencyKey(arrival.headers);
        return plan;
      },
      onRate: (rate) => {
        notes.rate = rate;
      },
    }),
  };
}

function tryRead(arrival: Arrival): ValidRequest | { readonly refusal: unknown } {
  try {
    if (!arrival.body)
      throw arrival.bodyProblem ?? new GatewayError('invalid_request', { message: 'The request has no body.' });
    const parsed = parseBody(arrival.body);
    const betas = arrival.headers.get('anthropic-beta') !== null;
    return { ...parsed, facts: FORMATS[arrival.endpoint.format].facts(parsed.body, parsed.bytes, { betas }) };
  } catch (refusal) {
    return { refusal };
  }
}

function checkIdempotencyKey(headers: RequestHeaders): void {
  const name = headers.get('idempotency-key');
  if (name === null) return;
  if (headers.repeated('idempotency-key') || name.length === 0 || name.length > IDEMPOTENCY_KEY_CHARACTERS_MAX) {
    throw new GatewayError('invalid_request', {
      message: `The Idempotency-Key header must be sent once, with 1 to ${IDEMPOTENCY_KEY_CHARACTERS_MAX} characters.`,
      param: 'Idempotency-Key',
    });
  }
}
