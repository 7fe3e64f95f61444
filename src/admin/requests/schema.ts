import type { TSchema } from 'typebox';
import { CONDITIONS } from '../../core/conditions.ts';
import { Type } from '../../lib/schema-builder.ts';
import { ANY_CONDITION } from '../../observe/request-log/store.ts';
import { LoggedRequest } from '../../observe/request-log/view.ts';
import type { View } from '../http/view.ts';
import { RequestHistory } from '../operators/history-schema.ts';

const Text = Type.Union([Type.String(), Type.Null()]);
const TEXT_MAX = 256;
const time = 'An ISO time, or how long ago: 90s, 30m, 24h, 7d.';

const filters = {
  key: Type.Optional(Type.String({ maxLength: TEXT_MAX, description: 'The id of a key.' })),
  model: Type.Optional(Type.String({ maxLength: TEXT_MAX, description: 'As the client named it.' })),
  model_part: Type.Optional(
    Type.String({ minLength: 1, maxLength: TEXT_MAX, description: 'A part of that name, in any case of letters.' }),
  ),
  provider: Type.Optional(Type.String({ maxLength: TEXT_MAX, description: 'One that was called.' })),
  format: Type.Optional(
    Type.Enum(['chat', 'responses', 'messages'], { description: 'The format that the client spoke.' }),
  ),
  client_request_id: Type.Optional(
    Type.String({
      maxLength: TEXT_MAX,
      description: "The client's own id: what it sent as x-request-id or x-client-request-id.",
    }),
  ),
  status: Type.Optional(
    Type.String({
      pattern: '^([1-5][0-9]{2}|[1-5]xx)$',
      expected: 'a status such as 429, or a class such as 5xx',
      description: 'A status such as 429, or a class such as 5xx.',
    }),
  ),
  condition: Type.Optional(
    Type.Enum([ANY_CONDITION, ...Object.keys(CONDITIONS)], {
      description: 'What it failed with, see docs/connect/errors.md; any: whatever that was.',
    }),
  ),
  slower_than: Type.Optional(Type.String({ maxLength: 20, description: 'A time such as 500ms or 2s.' })),
  costlier_than: Type.Optional(Type.String({ maxLength: 40, description: 'In credits.' })),
  account: Type.Optional(
    Type.String({
      maxLength: TEXT_MAX,
      description: 'Keys of the account with this id and of those below it; none: keys that have no account.',
    }),
  ),
  below: Type.Optional(
    Type.Enum(['yes', 'no'], { description: 'no: without the accounts below `account`. Default yes.' }),
  ),
};

export const RequestFilters = Type.Object(filters, { additionalProperties: false });

export const RequestStreamQuery = Type.Object(
  {
    ...filters,
    newest: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description:
          'Only the last so many of each half second, and an event `more` where there were others. Default: all.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const RequestSearch = Type.Object(
  {
    ...filters,
    since: Type.Optional(Type.String({ maxLength: 40, description: time })),
    until: Type.Optional(Type.String({ maxLength: 40, description: time })),
    before: Type.Optional(
      Type.String({
        pattern: '^req_[0-9a-f]{1,40}$',
        expected: 'the id of a request, req_ and hexadecimal digits, as the page before names it',
        description: '`next` of the page before this one.',
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default 50.' })),
  },
  { additionalProperties: false },
);

/** A server-sent event as an object, as later versions of OpenAPI have it. Its `data` is JSON text. */
const event = <Name extends string>(name: Name, data: TSchema, description: string) =>
  Type.Object(
    {
      event: Type.Literal(name),
      data: Type.String({ contentMediaType: 'application/json', contentSchema: data }),
    },
    { description },
  );

export const RequestEvents = Type.Array(
  Type.Union([
    event('request', LoggedRequest, 'A request has ended.'),
    event('more', Type.Object({}), 'With `newest`: others have ended in the same half second, which are left out.'),
  ]),
  {
    title: 'RequestEvents',
    description:
      'Server-sent events, in the order in which requests were logged, until the client closes the connection, its credential ends, the log cannot be read or the gateway stops. A comment line comes first, and every 15 seconds without an event.',
  },
);

export const RequestExplanation = Type.Object(
  { request: LoggedRequest, explanation: Type.Array(Type.String()), history: RequestHistory },
  { title: 'RequestExplanation' },
);

export const RequestContent = Type.Object(
  {
    object: Type.Literal('request_content'),
    id: Type.String(),
    request: Type.String({ description: 'The body, as the client sent it.' }),
    response: Type.String({ description: 'The body, as the client got it; of a stream, its events.' }),
    cut: Type.Boolean({ description: 'Whether one of them was longer than a mebibyte and is truncated.' }),
    expires_at: Type.String({ format: 'date-time' }),
  },
  { title: 'RequestContent' },
);

export const RequestList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(LoggedRequest),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'For `before`; null at the end. A page may be short, or empty, before the end is reached.',
    }),
  },
  { title: 'RequestList' },
);

const RunningRequest = Type.Object(
  {
    id: Type.String(),
    key_id: Type.String(),
    key_label: Text,
    mode: Type.String(),
    model: Type.String(),
    provider: Type.String({ description: 'Empty for an account-admin.' }),
    streamed: Type.Boolean(),
    attempts: Type.Integer(),
    age_ms: Type.Number(),
    held: Type.String({ description: "In the key's unit." }),
    output_bytes: Type.Integer(),
  },
  { title: 'RunningRequest' },
);

export const RunningRequestList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(RunningRequest) },
  { title: 'RunningRequestList' },
);

export const StoppedRequest = Type.Object({ id: Type.String(), stopped: Type.Boolean() }, { title: 'StoppedRequest' });

export const StoppedRequests = Type.Object(
  { id: Type.String(), stopped: Type.Integer({ description: 'How many were stopped.' }) },
  { title: 'StoppedRequests' },
);

export type RunningRequestView = View<typeof RunningRequest>;
