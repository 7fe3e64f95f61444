/** Makes the texts of providers safe for an operator's terminal: one line, no control characters, no secrets. */
import type { Provider } from '../core/provider.ts';
import { secretsOf } from '../provider/adapters.ts';
import { messageOf, redact } from '../provider/failure.ts';

const CHARACTERS_MAX = 300;
/** Shorter values are not secrets, and redacting them would destroy ordinary words. */
const SECRET_CHARACTERS_MIN = 6;

/** The message in a provider's error answer. */
export function providerMessage(provider: Provider, body: string): string {
  return redacted(provider, messageOf(body));
}

export function redacted(provider: Provider, text: string): string {
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
export function joinNames(names: readonly string[], max = 5): string {
  const rest = names.length - max;
  return rest > 0 ? `${names.slice(0, max).join(', ')} and ${rest} more` : names.join(', ');
}
