/** An alert as one line that a person reads: in a chat, as the subject of a mail, in lists. */
import type { AlertType } from '../core/alert-types.ts';
import type { Alert } from './alert.ts';

type Data = Alert['data'];

const LINE_CHARACTERS_MAX = 600;

/** Names are their owners' to choose: nothing in them ends a line, or turns the direction in which the rest is read. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

const LIMITS: Readonly<Record<string, string>> = {
  balance: 'balance',
  cap: 'cap',
  budget: 'token budget',
  credit_cap: 'credit cap',
  token_cap: 'token cap',
};

const LINES: Readonly<Record<AlertType, (data: Data) => string>> = {
  'usage.level': usageLine,
  'key.expiring': (data) =>
    `${subject(data)} expires within ${data.within_days === 1 ? 'a day' : `${data.within_days} days`}, at ${data.expires_at}.`,
  'circuit.open': ({ provider, upstream_model: model, models }) =>
    `Provider ${provider} fails: ${model} is not called for a while. It serves ${list(models)}.`,
  'credential.refused': ({ provider, refused_at: at }) => `Provider ${provider} refused its credential at ${at}.`,
  'audit.failed': ({ count, findings }) =>
    `The audit found ${count} ${count === 1 ? 'thing that does' : 'things that do'} not add up: ${list(findings, '; ')}`,
  'charge.shortfall': ({ key, day, charges, credits, tokens }) =>
    `Charges of key ${key} on ${day} were less than was owed: ${charges} of them, by ${[
      ...(credits === undefined ? [] : [`${credits} credits`]),
      ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ].join(' and ')}.`,
  'spend.below_cost': ({ key, day, cost, provider_cost: asked }) =>
    `Key ${key} was charged ${cost} credits on ${day}, and providers charge ${asked} for it.`,
  'reload.refused': ({ problems }) => `A changed config file or certificate cannot be used: ${list(problems, '; ')}`,
  'certificate.expiring': ({ listener, expires_at: at, expired }) =>
    `The certificate of the ${listener} listener ${expired === true ? 'has expired' : 'expires'}, at ${at}.`,
  'alert.test': () => 'This is a test: alerts of this gateway arrive here.',
};

export function alertLine(type: AlertType, data: Data): string {
  const line = LINES[type](data).replaceAll(UNPRINTABLE, ' ').replaceAll(/ {2,}/g, ' ').trim();
  return line.length <= LINE_CHARACTERS_MAX ? line : `${line.slice(0, LINE_CHARACTERS_MAX - 1)}…`;
}

/** Every value by its name, one in a line. */
export function alertDetails(data: Data): readonly string[] {
  return Object.entries(data)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return `${name.replaceAll('_', ' ')}: ${text.replaceAll(UNPRINTABLE, ' ')}`;
    });
}

function usageLine(data: Data): string {
  const { level, left, used, amount, unit, period } = data;
  const limit = LIMITS[String(data.limit)] ?? data.limit;
  const each = period === 'none' ? '' : ` of this ${period}`;
  const state = left === undefined ? `has used ${level} % of its` : `has ${left} ${unit} or less left of its`;
  return `${subject(data)} ${state} ${limit}${each}: ${used} of ${amount} ${unit}.`;
}

function subject({ key, account, name }: Data): string {
  const [kind, id] = key === undefined ? ['Account', account] : ['Key', key];
  return name === null || name === undefined || name === '' ? `${kind} ${id}` : `${kind} ${name} (${id})`;
}

function list(values: unknown, between = ', '): string {
  return Array.isArray(values) ? values.join(between) : String(values);
}
