/** Body bytes → a valid request. What is wrong with it is kept until the request has taken its place in the rate limit. */
import { GatewayError } from '../core/conditions.ts';
import type { Policy } from '../core/policy.ts';
import type { Catalog } from '../core/provider.ts';
import type { TextCount } from '../counting/exact-count.ts';
import type { RateState } from '../ledger/port.ts';
import { FORMATS } from '../wire/formats.ts';
import { parseBody } from '../wire/json/parse-request.ts';
import { type AdmitOrder, fingerprintOf } from './admit.ts';
import type { Caller } from './authenticate.ts';
import type { RequestHeaders } from './headers.ts';
import { resolve } from './make-plan.ts';
import type { Plan } from './plan.ts';
import type { Arrival } from './request.ts';
import type { ReplyNotes } from './response-sink.ts';
import type { ValidRequest } from './valid-request.ts';

const IDEMPOTENCY_KEY_CHARACTERS_MAX = 255;

/** What is judged by the catalog and the policy, each of which is read once per exchange. */
export class Reading implements AdmitOrder {
  readonly requestId: string;
  readonly caller: Caller;
  readonly idempotencyKey: string | null;
  readonly choices: number;
  readonly #arrival: Arrival;
  readonly #result: ValidRequest | Refused;
  readonly #catalog: Catalog;
  readonly #policy: Policy;
  readonly #notes: ReplyNotes;

  constructor(arrival: Arrival, catalog: Catalog, policy: Policy, notes: ReplyNotes) {
    const result = tryRead(arrival);
    this.requestId = arrival.requestId;
    this.caller = arrival.caller;
    this.idempotencyKey = arrival.headers.get('idempotency-key');
    this.choices = 'refusal' in result ? 1 : result.facts.choices;
    this.#arrival = arrival;
    this.#result = result;
    this.#catalog = catalog;
    this.#policy = policy;
    this.#notes = notes;
  }

  /** The request, or the refusal that its body has earned. */
  valid(): ValidRequest {
    if ('refusal' in this.#result) throw this.#result.refusal;
    return this.#result;
  }

  fingerprint(): string {
    return fingerprintOf('POST', this.#arrival.path, this.valid().bytes);
  }

  decide({ key }: Caller, counted: TextCount | null): Plan {
    const { endpoint, headers } = this.#arrival;
    const plan = resolve({ catalog: this.#catalog, policy: this.#policy, key, endpoint }, this.valid(), counted);
    checkIdempotencyKey(headers);
    return plan;
  }

  onRate(rate: RateState | null): void {
    this.#notes.rate = rate;
  }
}

interface Refused {
  readonly refusal: unknown;
}

function tryRead(arrival: Arrival): ValidRequest | Refused {
  try {
    if (!arrival.body)
      throw arrival.bodyProblem ?? new GatewayError('invalid_request', { message: 'The request has no body.' });
    const { bytes, body, layout } = parseBody(arrival.body);
    const betas = arrival.headers.get('anthropic-beta') !== null;
    return { bytes, body, layout, facts: FORMATS[arrival.endpoint.format].facts(body, bytes, { betas }) };
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
