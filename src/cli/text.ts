/** The output of the commands as text. */

import type { AccountView } from '../admin/accounts/schema.ts';
import type { CreatedKey, KeyView } from '../admin/keys/schema.ts';
import type { AuditView, LastAuditView } from '../admin/state/schema.ts';
import { table } from '../lib/text-table.ts';
import { settingRows } from './settings.ts';

export function createdText(key: CreatedKey): readonly string[] {
  return [
    `Key ${key.id} (${key.mode}${key.label === null ? '' : `, ${key.label}`}):`,
    '',
    `  ${key.key}`,
    '',
    'It is shown only this once: the gateway stores a digest. Copy it to where your client reads it.',
    '',
    `  Base URL for Format A clients (chat completions, responses)  ${key.base_url}`,
    `  Base URL for Format B clients (messages)                     ${key.origin}`,
    `  ${available(key)}`,
    ...(key.prefixes.length > 1 ? ['', otherSecrets(key)] : []),
  ];
}

export function keyText(key: KeyView): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['id', key.id],
    ['label', key.label ?? '-'],
    ['mode', key.mode],
    ['status', key.status],
    ['secrets', key.prefixes.map((prefix) => `${prefix}…`).join(' ')],
    ['available', available(key)],
    ...(key.mode === 'credit' ? promotionalRow(key) : []),
    ['requests', `${key.requests} (${key.input_tokens} input, ${key.output_tokens} output tokens)`],
    ...settingRows(key),
    ['created', key.created_at],
    ['base URL', key.base_url],
  ];
  return rows.map(([name, value]) => `${name.padEnd(13)}${value}`);
}

/** One line after a change: what the key is now. */
export function keyLine(key: KeyView): readonly string[] {
  return [`${key.id} is ${key.status}; ${available(key)}`];
}

export function keysTable(keys: readonly KeyView[]): readonly string[] {
  if (keys.length === 0) return ['No keys yet. Create one with: gateway keys create --mode credit --credit 5'];
  const account = keys.some((key) => key.account !== undefined);
  return table([
    ['ID', 'PREFIX', 'MODE', 'STATUS', 'AVAILABLE', ...(account ? ['ACCOUNT'] : []), 'LABEL'],
    ...keys.map((key) => [
      ...[key.id, key.prefix, key.mode, key.status, figure(key)],
      ...(account ? [key.account_name ?? key.account ?? '-'] : []),
      key.label ?? '',
    ]),
  ]);
}

export function auditText(
  report: Omit<AuditView, 'flagged_charges'> & Partial<Pick<AuditView, 'flagged_charges'>>,
): readonly string[] {
  const scope = `${report.keys} keys, ${report.entries} entries, ${report.live_holds} live holds`;
  const { flagged_charges: newest = [] } = report;
  const shown = newest.length === 0 ? '.' : report.flagged > newest.length ? `, the newest ${newest.length}:` : ':';
  const flagged =
    report.flagged === 0
      ? []
      : [`${report.flagged} charges are flagged for review${shown}`, ...newest.map((line) => `  ${line}`)];
  if (report.ok) return [`OK: every balance equals its entries (${scope}).`, ...flagged];
  return [`NOT OK (${scope}):`, ...report.findings.map((finding) => `  ${finding}`), ...flagged];
}

export function lastAuditText({ every_hours, last }: LastAuditView): readonly string[] {
  const next = every_hours === null ? [] : [`The gateway runs one every ${every_hours} hours.`];
  if (last === null) return ['There has been no audit yet. Run one with: gateway audit', ...next];
  const more = last.finding_count - last.findings.length;
  return [last.at, ...auditText(last), ...(more > 0 ? [`  and ${more} more`] : []), ...next];
}

function available(key: KeyView): string {
  if (key.mode === 'credit' && key.account !== undefined) {
    const cap = key.cap && `; ${amount(key.cap.used)} of a cap of ${amount(key.cap.amount)}`;
    return `paid for by ${key.account} (${amount(key.used)} used, ${amount(key.reserved)} held${cap ?? ''})`;
  }
  if (key.mode === 'credit') {
    return `${amount(key.remaining)} credits left of ${amount(key.credit)} bought (${amount(key.used)} used, ${amount(key.reserved)} held)`;
  }
  if (key.budget === null) return `no token limit (${key.used} used, ${key.reserved} held in this ${key.period})`;
  const until = key.period_ends_at === null ? 'never renewed' : `renewed at ${key.period_ends_at}`;
  return `${key.remaining} tokens left of ${key.budget} (${key.used} used, ${key.reserved} held; ${until})`;
}

/** A row where there is something to say. */
export function promotionalRow(view: Pick<AccountView, 'promotional'>): readonly (readonly [string, string])[] {
  if (view.promotional === undefined) return [];
  const { left, next_amount, next_expires_at } = view.promotional;
  return [
    ['promotional', `${amount(left)} of these credits expire, the next ${amount(next_amount)} at ${next_expires_at}`],
  ];
}

function figure(key: KeyView): string {
  if (key.mode === 'credit' && key.account !== undefined) return 'by its account';
  if (key.mode === 'credit') return `${amount(key.remaining)} credits`;
  return key.remaining === null ? 'no limit' : `${key.remaining} tokens`;
}

/** Plain decimals, never an exponent. */
export function amount(credits: number): string {
  return credits.toFixed(9).replace(/\.?0+$/, '');
}

function otherSecrets(key: KeyView): string {
  const older = key.prefixes.filter((prefix) => prefix !== key.prefix);
  return `Also valid: ${older.map((prefix) => `${prefix}…`).join(', ')}. Revoke one with: gateway keys revoke-secret ${key.id} PREFIX`;
}
