/** The commands about operators and the audit trail. */
import type { AdminClient, AnswerOf } from '../admin/client.ts';
import { fingerprintLines } from '../admin/console-address.ts';
import { AdminError } from '../admin/error.ts';
import type { AuditTrailEntryView } from '../admin/operators/audit-trail-schema.ts';
import type { ListedOperatorView } from '../admin/operators/schema.ts';
import { table } from '../lib/text-table.ts';
import { type Command, command, moreLine } from './command.ts';

const BUILT_IN = 'owner';

export const OPERATOR_COMMANDS: readonly Command[] = [
  command({
    words: ['operators', 'list'],
    examples: ['operators list'],
    summary: 'list all operators with their roles',
    ask: async (api) => (await api.call('listOperators', {})).data,
    print: operatorsTable,
  }),
  command({
    words: ['operators', 'create'],
    examples: [
      'operators create ann --role viewer',
      'operators create "Acme admin" --role account-admin --account acct_1',
    ],
    operands: ['NAME'],
    flags: { role: 'owner|operator|viewer|account-admin', account: 'ID', expires: 'ISO' },
    summary: 'create an operator with a token, shown once; it expires after 90 days or at --expires',
    createsData: true,
    ask: (api, { operands: [name], flags: { role, account, expires } }) =>
      api.call('createOperator', { body: { name, role, account_id: account, expires_at: expires } }),
    print: tokenText,
  }),
  command({
    words: ['operators', 'show'],
    examples: ['operators show ann'],
    operands: ['NAME|ID'],
    summary: 'show one operator with its tokens',
    ask: async (api, { operands: [name = ''] }) => api.call('showOperator', { id: await operatorId(api, name) }),
    print: operatorText,
  }),
  command({
    words: ['operators', 'update'],
    examples: ['operators update ann --role operator'],
    operands: ['NAME|ID'],
    flags: { role: 'owner|operator|viewer|account-admin', account: 'ID' },
    summary: 'change the role of an operator, from its next request on',
    ask: async (api, { operands: [name = ''], flags: { role, account } }) =>
      api.call('changeOperator', { id: await operatorId(api, name), body: { role, account_id: account } }),
    print: operatorText,
  }),
  command({
    words: ['operators', 'token'],
    examples: ['operators token ann --expires 2027-01-31'],
    operands: ['NAME|ID'],
    flags: { expires: 'ISO', label: 'TEXT' },
    summary: 'create another token for an operator; the older ones keep working',
    ask: async (api, { operands: [name = ''], flags: { expires, label } }) =>
      api.call('addToken', { id: await operatorId(api, name), body: { expires_at: expires, label } }),
    print: tokenText,
  }),
  command({
    words: ['operators', 'revoke'],
    examples: ['operators revoke ann'],
    operands: ['NAME|ID'],
    flags: { token: 'TOKEN_ID' },
    summary: 'revoke an operator with all tokens and sessions, or with --token only that token',
    ask: async (api, { operands: [name = ''], flags: { token } }) => {
      const id = await operatorId(api, name);
      return token === undefined
        ? api.call('revokeOperator', { id })
        : api.call('revokeToken', { id, token_id: token });
    },
    print: ({ name }, { flags: { token } }) => [
      `${token === undefined ? name : `token ${token} of ${name}`} is revoked`,
    ],
  }),
  command({
    words: ['operators', 'link'],
    examples: ['operators link --operator ann'],
    flags: { operator: 'NAME|ID' },
    summary: 'print a link that signs in to the console, once, within 15 minutes; as the owner, or as --operator',
    createsData: true,
    ask: async (api, { flags: { operator = BUILT_IN } }) =>
      api.call('makeLink', { id: await operatorId(api, operator) }),
    print: ({ url, certificate_sha256 }) => [url, ...fingerprintLines(certificate_sha256)],
  }),
  command({
    words: ['audit-trail'],
    examples: ['audit-trail --outcome refused --since 2026-11-01'],
    flags: {
      actor: 'NAME|ID',
      action: 'ACTION',
      target: 'ID',
      outcome: 'done|refused|unknown',
      since: 'ISO',
      until: 'ISO',
      limit: 'N',
      cursor: 'NUMBER',
    },
    summary: 'list who did what, newest first, including refused actions',
    ask: async (api, { flags: { actor, ...filters } }) => {
      const ofActor = actor === undefined ? {} : { actor: await operatorId(api, actor) };
      return api.call('auditTrail', { query: { ...filters, ...ofActor } });
    },
    print: ({ data, next_cursor }) => [...trailTable(data), ...moreLine('audit-trail', next_cursor)],
  }),
];

async function operatorId(api: AdminClient, given: string): Promise<string> {
  const { data: all } = await api.call('listOperators', {});
  const found =
    all.find(({ id }) => id === given) ??
    all.find(({ name, status }) => name === given && status === 'active') ??
    all.findLast(({ name }) => name === given);
  if (found !== undefined) return found.id;
  const names = all.map(({ name }) => name).join(', ');
  throw new AdminError(
    'unknown_operator',
    `operator ${JSON.stringify(given)} does not exist: expected a name or id of ${names}`,
  );
}

function operatorsTable(all: readonly ListedOperatorView[]): readonly string[] {
  return table([
    ['ID', 'NAME', 'ROLE', 'STATUS', 'CREATED'],
    ...all.map(({ id, name, role, account_id, status, created_at }) => [
      id,
      name,
      account_id === null ? role : `${role} of ${account_id}`,
      status,
      created_at ?? 'built in',
    ]),
  ]);
}

function operatorText({ tokens, ...operator }: AnswerOf<'showOperator'>): readonly string[] {
  const lines = tokens.map(({ id, label, status, created_at, expires_at }) => [
    id,
    label ?? '-',
    status,
    created_at,
    expires_at,
  ]);
  return [
    ...operatorsTable([operator]),
    '',
    ...(tokens.length === 0 ? ['No tokens.'] : table([['TOKEN', 'LABEL', 'STATUS', 'CREATED', 'EXPIRES'], ...lines])),
  ];
}

function tokenText({ token, token_id, expires_at, operator }: AnswerOf<'createOperator'>) {
  return [
    `Operator ${operator.name} (${operator.role}, ${operator.id}), token ${token_id}:`,
    '',
    `  ${token}`,
    '',
    `It is shown only this once: the gateway stores a digest. It expires at ${expires_at}.`,
    `Sign in at the console with it, or make a link: gateway operators link --operator "${operator.name}"`,
  ];
}

function trailTable(entries: readonly AuditTrailEntryView[]): readonly string[] {
  if (entries.length === 0) return ['Nothing was found.'];
  return table([
    ['NUMBER', 'AT', 'ACTOR', 'VIA', 'FROM', 'ACTION', 'TARGET', 'OUTCOME', 'CHANGE'],
    ...entries.map(({ number, at, actor, address, action, target, outcome, reason, before, after }) => [
      String(number),
      at,
      actor?.name ?? '-',
      actor?.via ?? '-',
      address ?? '-',
      action,
      target ?? '-',
      outcome,
      reason ?? changeText(before, after),
    ]),
  ]);
}

const CHANGE_CHARACTERS_MAX = 120;

function changeText(before: unknown, after: unknown): string {
  if (before === null || after === null) return '';
  const text = `${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
  return text.length <= CHANGE_CHARACTERS_MAX ? text : `${text.slice(0, CHANGE_CHARACTERS_MAX)}…`;
}
