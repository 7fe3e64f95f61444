/** What others say, made fit for an operator's terminal: one line, no control characters, no secrets. */
import type { Provider } from '../core/provider.ts';
import { secretsOf } from '../provider/adapters.ts';
import { messageOf, redact } from '../provider/failure.ts';

const CHARACTERS_MAX = 300;
/** What is shorter is no secret, and would be blotted out of ordinary words. */
const SECRET_CHARACTERS_MIN = 6;

/** The provider's own words about a refusal. */
export function saidBy(provider: Provider, body: string): string {
  return shown(provider, messageOf(body));
}

export function shown(provider: Provider, text: string): string {
  const headers = Object.values(provider.headers).filter((value) => value.length >= SECRET_CHARACTERS_MIN);
  return oneLine(redact(text, [...secretsOf(provider), ...headers]));
}

export function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, CHARACTERS_MAX);
}

/** `a, b, c and 7 more` */
export function listed(names: readonly string[], max = 5): string {
  const rest = names.length - max;
  return rest > 0 ? `${names.slice(0, max).join(', ')} and ${rest} more` : names.join(', ');
}
