/** What only the operator can do about a request: its attempts that failed, its key, its charge, the store. */
import { onlyCounts } from '../core/endpoints.ts';
import type { AttemptView, RequestView } from './request-log/view.ts';

export function operatorAdvice(view: RequestView): readonly string[] {
  const { id, key_id, attempts, skipped, condition, message, stopped, settlement, settled_ms } = view;
  const advice = new Set<string>();
  for (const attempt of attempts) {
    const text = aboutAttempt(attempt, view);
    if (text !== null) advice.add(text);
  }
  if (skipped.some(({ reason }) => reason === 'circuit_open')) {
    advice.add('A circuit is open: the gateway tries the target again after a few seconds.');
  }
  if (condition === 'invalid_credentials' && key_id !== null) {
    advice.add(`The key was found: "gateway keys show ${key_id}" says what state it is in.`);
  }
  if (view.flag !== null) {
    advice.add(
      'The charge is flagged: compare it with the provider\'s own bill, and the prices and limits of the model ("gateway models") with those that the provider publishes.',
    );
  }
  if (stopped === 'operator') {
    advice.add(`An operator has stopped it: "gateway audit-trail --target ${id}" says who.`);
  }
  const neverAdmitted = attempts.length === 0 && (message ?? '').includes('ledger');
  const notSettled = settlement !== null && settled_ms === null;
  if (condition === 'service_unavailable' && (neverAdmitted || notSettled)) {
    advice.add('The store was out of reach: look at the log and at /readyz; "gateway doctor" checks it.');
  }
  return [...advice];
}

/** Null where there is nothing to do, as where the request itself was at fault. */
function aboutAttempt(
  { provider, model, status, credential, condition }: AttemptView,
  view: RequestView,
): string | null {
  const counting = onlyCounts(view.endpoint);
  const elsewhere = counting || severalProviders(view) ? null : 'let another provider serve the model too';
  if (status === 401 || status === 403) {
    return credential === 0
      ? `Provider ${provider} wants a credential and was sent none: give it an api_key, then run "gateway doctor".`
      : `Credential ${credential} of provider ${provider} is refused: replace it, then run "gateway doctor".`;
  }
  if (status === 429) {
    const more = elsewhere === null ? 'or add a credential' : `add a credential, or ${elsewhere}`;
    return `Provider ${provider} limits the requests of this gateway: raise its limits there, ${more}.`;
  }
  if (status === 404) {
    return counting
      ? `Provider ${provider} does not know the model ${model}, or does not count tokens: correct the target, or set count_tokens: false for the provider.`
      : `Provider ${provider} does not know the model ${model}: correct the target, then run "gateway doctor".`;
  }
  if (condition === null || condition === 'invalid_request' || condition === 'context_length_exceeded') return null;
  if (counting) return `Provider ${provider} did not count the tokens: "gateway doctor" says whether it serves at all.`;
  if (condition === 'upstream_timeout' && status !== 408 && status !== 504) {
    const more = elsewhere === null ? '' : `, or ${elsewhere}`;
    return `Provider ${provider} was slower than its time-outs: look at its timeouts.first_byte and timeouts.idle${more}.`;
  }
  return `Provider ${provider} failed: ${othersAffected(provider, view)}.`;
}

function severalProviders({ attempts, skipped }: RequestView): boolean {
  return new Set([...attempts, ...skipped].map(({ provider }) => provider)).size > 1;
}

/** What the last call failed with is the condition of the request; that another one failed, only what followed it tells. */
function othersAffected(provider: string, { attempts, condition }: RequestView): string {
  const command = `gateway requests list --provider ${provider}`;
  return condition !== null && attempts.at(-1)?.provider === provider
    ? `"${command} --condition ${condition}" shows whether others are affected`
    : `"${command}" shows whether others are affected: it failed wherever another call follows it under PROVIDERS`;
}
