/** Usage reports as the API takes and gives them. */
import { ACCOUNT_LEVELS_MAX } from '../../core/account.ts';
import { USAGE_DIMENSIONS, USAGE_ORDERS, USAGE_PERIODS } from '../../core/usage-report.ts';
import { Type } from '../../lib/schema-builder.ts';
import type { View } from '../http/view.ts';

const TEXT_MAX = 200;
/** More than this is not read: ask for parts of it. */
export const ROWS_MAX = 10_000;

const OneLine = {
  pattern: `^[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,${TEXT_MAX}}$`,
  expected: `one line of 1 to ${TEXT_MAX} characters`,
};
const Time = {
  expected:
    'a time like 2030-01-31T12:00:00Z or a date like 2030-01-31, or a length of time back from now like 12h, 30d or 4w',
};

export const UsageParameters = Type.Object(
  {
    by: Type.Optional(
      Type.String({
        expected: `a list of ${USAGE_DIMENSIONS.join(', ')}, separated by commas, each once`,
        description: `What to group by: ${USAGE_DIMENSIONS.join(', ')}, separated by commas. Without it, one row for all.`,
      }),
    ),
    since: Type.Optional(
      Type.String({
        ...Time,
        description: 'From the beginning of this hour (for 30d: of this day). Default 30d.',
      }),
    ),
    until: Type.Optional(Type.String({ ...Time, description: 'Up to the end of this hour. Default: now.' })),
    period: Type.Optional(
      Type.Enum([...USAGE_PERIODS], { description: 'Instead of since and until. Weeks begin on Monday.' }),
    ),
    time_zone: Type.Optional(
      Type.String({
        maxLength: 64,
        expected: 'a time zone like UTC, Europe/Berlin or America/New_York',
        description: 'Whose days are meant, and times without a zone. Default UTC.',
      }),
    ),
    key: Type.Optional(Type.String({ ...OneLine, description: 'Only the key with this id.' })),
    account: Type.Optional(
      Type.String({ ...OneLine, description: 'Only the keys of the account with this id and of those below it.' }),
    ),
    label: Type.Optional(Type.String({ ...OneLine, description: 'Only keys with this label.' })),
    model: Type.Optional(Type.String({ ...OneLine, description: 'Only this model.' })),
    provider: Type.Optional(Type.String({ ...OneLine, description: 'Only this provider.' })),
    format: Type.Optional(Type.String({ ...OneLine, description: 'Only this format.' })),
    level: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: ACCOUNT_LEVELS_MAX,
        description:
          'By account: those further down count for theirs of this level. 1: what each customer spent, with all of its teams.',
      }),
    ),
    top: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: ROWS_MAX,
        description:
          'Only so many groups, those with the most of `order`; days and hours do not make a group. The total is of all.',
      }),
    ),
    order: Type.Optional(Type.Enum([...USAGE_ORDERS, 'failed'], { description: 'What `top` goes by. Default cost.' })),
  },
  { additionalProperties: false },
);

const Percentiles = Type.Union(
  [Type.Object({ p50: Type.Integer(), p95: Type.Integer(), p99: Type.Integer() }), Type.Null()],
  { description: 'In milliseconds; null where no request says.' },
);

export const tokenFields = {
  input_tokens: Type.Integer({ description: 'Input that was neither read from a cache nor written to one.' }),
  cache_read_tokens: Type.Integer(),
  cache_write_tokens: Type.Integer(),
  cache_write_1h_tokens: Type.Integer(),
  output_tokens: Type.Integer({ description: 'Reasoning included.' }),
  reasoning_tokens: Type.Integer(),
};

const failedFields = {
  failed: Type.Integer({
    description: 'Requests that were refused or failed, with nothing charged. They are in no other count.',
  }),
  failed_by_condition: Type.Record(Type.String(), Type.Integer(), {
    description: 'The same by their condition, such as upstream_error or rate_limit_exceeded.',
  }),
};

const figures = {
  requests: Type.Integer({ description: 'Requests that were answered, and not cancelled.' }),
  cancelled: Type.Integer({
    description: 'Calls that were charged, and that their client, a time limit, a drain or an operator ended.',
  }),
  broken: Type.Integer({ description: 'Requests whose answer broke off.' }),
  ...failedFields,
  error_rate: Type.Number({
    description: 'From 0 to 1: failed and broken, as a part of all requests (requests, cancelled and failed).',
  }),
  cost: Type.Number({ description: 'What the calls cost the callers, in credits, in both modes.' }),
  provider_cost: Type.Union([Type.Number(), Type.Null()], {
    description: 'What the providers charge for them, in credits; null for an account-admin.',
  }),
  margin: Type.Union([Type.Number(), Type.Null()], {
    description: 'cost minus provider_cost; null for an account-admin.',
  }),
  charged_credits: Type.Number({ description: 'The sum of the entries of credit keys.' }),
  charged_tokens: Type.Integer({ description: 'The sum of the entries of token budgets.' }),
  ...tokenFields,
  first_byte_ms: Percentiles,
  duration_ms: Percentiles,
};

const nullableText = Type.Union([Type.String(), Type.Null()]);

const UsageFigures = Type.Object(figures, { title: 'UsageFigures' });
const UsageRow = Type.Object(
  {
    day: Type.Optional(Type.String({ description: 'Like 2030-01-31.' })),
    hour: Type.Optional(Type.String({ description: 'The time at which it begins.' })),
    key: Type.Optional(Type.String()),
    label: Type.Optional(nullableText),
    account: Type.Optional(nullableText),
    account_name: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'What the account is called now; with `account`.' }),
    ),
    model: Type.Optional(nullableText),
    provider: Type.Optional(nullableText),
    format: Type.Optional(nullableText),
    ...figures,
  },
  { title: 'UsageRow', description: 'The dimensions that were asked for, and no others; null means unknown or none.' },
);

export const UsageReport = Type.Object(
  {
    object: Type.Literal('usage'),
    since: Type.String(),
    until: Type.String({ description: 'Not part of the report.' }),
    time_zone: Type.String({ description: 'Whose days are meant.' }),
    by: Type.Array(Type.Enum([...USAGE_DIMENSIONS])),
    complete: Type.Boolean({
      description:
        'false: older charges are still being added, as after an upgrade, or the counts of failed requests cannot be read; ask again later.',
    }),
    data: Type.Array(UsageRow),
    total: UsageFigures,
    without_key: Type.Object(failedFields, {
      description:
        'Requests in this time that no known key was given with: in no row and in no total, whatever is filtered. None for an account-admin.',
    }),
  },
  { title: 'UsageReport' },
);

export type UsageView = View<typeof UsageReport>;
export type UsageRowView = UsageView['data'][number];
export type UsageFiguresView = UsageView['total'];
