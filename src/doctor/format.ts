/** Makes the texts of providers safe for an operator's terminal: one line, no control characters, no secrets. */
import type { Provider } from '../core/provider.ts';
import { messageOf, redact } from '../provider/failure.ts';
import { secretsOf } from '../provider/secrets.ts';

const CHARACTERS_MAX = 300;

/** The message in a provider's error answer. */
export function providerMessage(provider: Provider, body: string): string {
  return redacted(provider, messageOf(body));
}

export function redacted(provider: Provider, text: string): string {
  return oneLine(redact(text, secretsOf(provider)));
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
