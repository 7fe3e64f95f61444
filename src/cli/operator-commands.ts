/** The commands about operators and the audit trail. */
import type { AdminClient, AnswerOf } from '../admin/client.ts';
import { AdminError } from '../admin/error.ts';
import type { AuditTrailEntryView } from '../admin/operators/audit-trail-schema.ts';
import type { ListedOperatorView } from '../admin/operators/schema.ts';
import type { Command } from './command.ts';
import { json, lines, withoutAbsent } from './output.ts';
import { table } from './text.ts';

const BUILT_IN = 'owner';

export const OPERATOR_COMMANDS: readonly Command[] = [
  {
    words: ['operators', 'list'],
    examples: ['operators list'],
    operands: [],
    flags: {},
    switches: ['json'],
    summary: 'list all operators with their roles',
    run: async (api, { switches }) => {
      const { data: all } = await api.call('listOperators', {});
      return switches.has('json') ? json(all) : lines(operatorsTable(all));
    },
  },
  {
    words: ['operators', 'create'],
    examples: [
      'operators create ann --role viewer',
      'operators create "Acme admin" --role account-admin --account acct_1',
    ],
    operands: ['NAME'],
    flags: { role: 'owner|operator|viewer|account-admin', account: 'ID', expires: 'ISO' },
    switches: ['json'],
    summary: 'create an operator with a token, shown once; it expires after 90 days or at --expires',
    createsData: true,
    run: async (api, { operands: [name], flags, switches }) => {
      const input = { name, role: flags.role, account_id: flags.account, expires_at: flags.expires };
      const issued = await api.call('createOperator', { body: withoutAbsent(input) });
      return switches.has('json') ? json(issued) : lines(tokenText(issued));
    },
  },
  {
    words: ['operators', 'token'],
    examples: ['operators token ann --expires 2027-01-31'],
    operands: ['NAME|ID'],
    flags: { expires: 'ISO', label: 'TEXT' },
    switches: ['json'],
    summary: 'create another token for an operator; the older ones keep working',
    run: async (api, { operands: [name = ''], flags, switches }) => {
      const id = await operatorId(api, name);
      const issued = await api.call('addToken', {
        id,
        body: withoutAbsent({ expires_at: flags.expires, label: flags.label }),
      });
      return switches.has('json') ? json(issued) : lines(tokenText(issued));
    },
  },
  {
    words: ['operators', 'revoke'],
    examples: ['operators revoke ann'],
    operands: ['NAME|ID'],
    flags: { token: 'TOKEN_ID' },
    switches: ['json'],
    summary: 'revoke an operator with all tokens and sessions, or with --token only that token',
    run: async (api, { operands: [name = ''], flags, switches }) => {
      const id = await operatorId(api, name);
      const { token } = flags;
      const operator =
        token === undefined
          ? await api.call('revokeOperator', { id })
          : await api.call('revokeToken', { id, token_id: token });
      const text =
        token === undefined ? `${operator.name} is revoked` : `token ${token} of ${operator.name} is revoked`;
      return switches.has('json') ? json(operator) : lines([text]);
    },
  },
  {
    words: ['operators', 'link'],
    examples: ['operators link --operator ann'],
    operands: [],
    flags: { operator: 'NAME|ID' },
    switches: ['json'],
    summary: 'print a link that signs in to the console, once, within 15 minutes; as the owner, or as --operator',
    createsData: true,
    run: async (api, { flags, switches }) => {
      const link = await api.call('makeLink', { id: await operatorId(api, flags.operator ?? BUILT_IN) });
      return switches.has('json') ? json(link) : lines([link.url]);
    },
  },
  {
    words: ['audit-trail'],
    examples: ['audit-trail --outcome refused --since 2026-11-01'],
    operands: [],
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
    switches: ['json'],
    summary: 'list who did what, newest first, including refused actions',
    run: async (api, { flags, switches }) => {
      const actor = flags.actor === undefined ? undefined : await operatorId(api, flags.actor);
      const page = await api.call('auditTrail', { query: withoutAbsent({ ...flags, actor }) });
      if (switches.has('json')) return json(page);
      const more = page.next_cursor === null ? [] : ['', `More: gateway audit-trail --cursor ${page.next_cursor}`];
      return lines([...trailTable(page.data), ...more]);
    },
  },
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
