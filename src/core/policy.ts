/**
 * What the operator decided about limits, streams and routing; one value per process, replaced as a whole on reload. A row is
 * all that a setting of the config file needs: its description, its bounds, its default and its name in the program.
 */
import { Type } from '../lib/schema-builder.ts';
import { bytes, count, duration, flag, seconds, section, setting, text, type Values } from '../lib/setting-rows.ts';
import type { AlertPolicy } from './alert-policy.ts';
import { DAY_MS, HOUR_MS } from './time.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const ANY_COUNT = { minimum: 1, maximum: 1_000_000 };

function limitOfBytes<Field extends string>(field: Field, description: string, fallback: number, maximum: number) {
  return bytes(field, description, fallback, { minimum: 1024, maximum }, '. In bytes.');
}

export const LIMITS = section({
  body_bytes: limitOfBytes('bodyBytes', 'The largest request body.', 32 * MIB, GIB),
  json_values: count(
    'jsonValues',
    'Values in the JSON of one request body: members of objects and elements of arrays at every depth.',
    100_000,
    { minimum: 1000, maximum: 100_000_000 },
  ),
  reply_bytes: limitOfBytes('replyBytes', 'The largest answer kept for an idempotent repeat.', MIB, GIB),
  reply_buffer_bytes: limitOfBytes(
    'replyBufferBytes',
    'All such answers of a process while they run.',
    256 * MIB,
    1024 * GIB,
  ),
  settle_wait: seconds('settleWaitMs', 'How long the last byte waits for the charge to be stored.', 30, {
    maximum: 300,
  }),
  count_wait: seconds(
    'countWaitMs',
    'How long a request waits for the exact count of its prompt, where the answer depends on it; after it, a 503.',
    5,
    { maximum: 300 },
  ),
  pre_stop: seconds(
    'preStopMs',
    'How long new requests are still served after SIGTERM while /readyz is a 503 already, so that load balancers notice.',
    5,
    { minimum: 0 },
  ),
  drain: seconds('drainMs', 'How long running requests may continue after a stop signal.', 30, { minimum: 0 }),
  connections: setting(
    'connections',
    Type.Integer({
      ...ANY_COUNT,
      description:
        'Connections of clients that a process serves at the same time. Default: what its limit of open files leaves when each needs one more to a provider.',
    }),
    null,
    (given) => given,
  ),
  connections_per_address: setting(
    'connectionsPerAddress',
    Type.Integer({
      ...ANY_COUNT,
      description:
        'Connections of one client address (of IPv6: 64 bits of it) that a process serves at the same time; those of trusted proxies are not counted. Default: no limit but that of all.',
    }),
    null,
    (given) => given,
  ),
  websockets: count(
    'websockets',
    'WebSockets that a process serves at the same time; never more than half of its connections.',
    1_000,
    ANY_COUNT,
  ),
  websockets_per_key: count('websocketsPerKey', 'The same of one key.', 64, ANY_COUNT),
  websocket_memory_bytes: limitOfBytes(
    'websocketMemoryBytes',
    'What all WebSockets of a process remember of their latest responses.',
    256 * MIB,
    1024 * GIB,
  ),
  header_bytes: limitOfBytes('headerBytes', 'The request line and the headers of a request together.', 32 * 1024, MIB),
  header_count: count('headerCount', 'Headers of a request.', 200, { minimum: 10, maximum: 2000 }),
  // Longer than the idle time of the usual load balancers, which must be the ones to close.
  keep_alive_timeout: seconds('keepAliveTimeoutMs', 'How long a connection without a request is kept open.', 75),
  headers_timeout: seconds('headersTimeoutMs', 'For a client to send the headers of a request.', 20, { maximum: 300 }),
  body_timeout: seconds('bodyTimeoutMs', 'For a client to send a request, headers and body.', 120),
});
export type Limits = Values<typeof LIMITS>;

export const STREAMS = section({
  total: seconds('totalMs', 'From acceptance to the end of a stream; raise it for agents and models that reason.', 300),
  keep_alive: seconds('keepAliveMs', 'Silence after which a keep-alive is sent; 0: never.', 10, {
    minimum: 0,
    maximum: 300,
  }),
  hold_wait: seconds(
    'holdWaitMs',
    'How long a stream waits for other requests when their holds keep its own from growing.',
    10,
    { minimum: 0, maximum: 60 },
  ),
  headers_wait: seconds(
    'headersWaitMs',
    'How long the 200 waits for the first event once the provider has accepted.',
    15,
    { maximum: 300 },
  ),
});
export type StreamSettings = Values<typeof STREAMS>;

export const ROUTING = section({
  order: setting(
    'order',
    Type.Enum(['listed', 'weighted', 'least-latency'], {
      description: 'Default: weighted when a target has a weight, else listed.',
    }),
    'listed',
    (given) => given,
  ),
  cache_affinity: flag(
    'cacheAffinity',
    'Whether the requests of a conversation go to the same target and credential, where the provider has its prompt cached.',
    true,
  ),
  max_attempts: count('maxAttempts', '', 3, { minimum: 1, maximum: 20 }),
  attempt_budget: seconds('attemptBudgetMs', 'The time for all attempts before the first byte to the client.', 30, {
    maximum: 600,
  }),
});
export type Routing = Values<typeof ROUTING>;

export const RESPONSES = section(
  {
    store: flag(
      'store',
      'Whether responses are kept, unless a request says `store: false`. false: `previous_response_id` and item references are refused.',
      true,
    ),
    keep_hours: duration('keepMs', 'How long a response is kept after its last use.', 24, HOUR_MS, {
      minimum: 0.001,
      maximum: 24 * 365,
    }),
    record_bytes: bytes('recordBytes', 'The most that one response may have, with the input that was new in it.', MIB, {
      minimum: 1024,
      maximum: 16 * MIB,
    }),
    key_bytes: bytes('keyBytes', 'The most that all responses of a key may have; the oldest leave first.', 64 * MIB, {
      minimum: 1024,
      maximum: GIB,
    }),
  },
  { description: 'Responses that the gateway keeps for the keys that received them.' },
);
export type ResponseStorage = Values<typeof RESPONSES>;

export const RUNS = section(
  {
    total: seconds('totalMs', 'From acceptance to the end of a response that is made in the background.', 3_600, {
      maximum: 86_400,
    }),
    event_bytes: bytes('eventBytes', 'The most that the stored events of one such response may have.', 64 * MIB, {
      minimum: 64 * 1024,
      maximum: GIB,
    }),
    key_bytes: bytes(
      'keyBytes',
      'The most that the events of all such responses of a key may have that have ended; the oldest leave first.',
      256 * MIB,
      { minimum: 64 * 1024, maximum: 64 * GIB },
    ),
  },
  { description: 'Responses that are made in the background (`background: true`).' },
);
export type RunSettings = Values<typeof RUNS>;

export const REQUEST_LOG = section(
  {
    enabled: flag('enabled', 'Whether requests are logged.', true),
    keep_days: duration('keepMs', 'How long a request is kept.', 30, DAY_MS, { minimum: 0.01, maximum: 3650 }),
    max_bytes: bytes('maxBytes', 'The most that the log may take; the oldest requests leave first.', 2 * GIB, {
      minimum: MIB,
      maximum: 1024 ** 5,
    }),
    client_address: flag('clientAddress', 'Whether the address of the client is kept.', false),
  },
  { description: 'One record per request, without prompt and answer, for `gateway requests`.' },
);
export type RequestLogPolicy = Values<typeof REQUEST_LOG>;

export const USAGE_RECORDS = section(
  {
    keep_days: setting(
      'usageKeepMs',
      Type.Number({
        minimum: 1,
        maximum: 36_500,
        description:
          'How long the usage record of each single request is kept. Usage reports and totals do not need it, and stay. Default: for ever.',
      }),
      null,
      (days) => (days === null ? null : Math.round(days * DAY_MS)),
    ),
  },
  { description: 'The record of each request that was answered, from which usage reports are made.' },
);

export const AUDIT = section(
  {
    every_hours: setting(
      'auditEveryMs',
      Type.Number({
        minimum: 0,
        maximum: 24 * 366,
        description: 'How often every balance is computed again from its entries; 0: only on request. Default 24.',
      }),
      24,
      (hours) => (hours === 0 ? null : Math.max(1, Math.round(hours * HOUR_MS))),
    ),
  },
  { description: 'The audit of the ledger. One of the gateways on a database runs it, beside requests.' },
);

const statementText = (description: string, maxLength: number) => Type.String({ minLength: 1, maxLength, description });

export const STATEMENTS = section(
  {
    name: setting('name', statementText('Who issues the statements: your company.', 200), null, (given) => given),
    address: setting(
      'address',
      Type.Array(statementText('A line.', 200), { maxItems: 10, description: 'Its postal address, line by line.' }),
      [],
      (given): readonly string[] => given,
    ),
    contact: setting(
      'contact',
      statementText('Whom customers ask: an e-mail address or a telephone number.', 200),
      null,
      (given) => given,
    ),
    tax_id: setting('taxId', statementText('Your tax or registration number.', 100), null, (given) => given),
    note: setting(
      'note',
      statementText('A sentence below the figures, such as how to pay.', 1_000),
      null,
      (given) => given,
    ),
    currency: setting(
      'currency',
      text(
        '^[A-Z]{3}$',
        'the code of a currency, such as EUR',
        'The currency that amounts are shown in beside credits.',
      ),
      null,
      (given) => given,
    ),
    credit_price: setting(
      'creditPriceNanos',
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1_000_000,
        description: 'What one credit costs a customer in this currency. Default 1.',
      }),
      1,
      (price) => BigInt(Math.round(price * 1e9)),
    ),
  },
  { description: 'What stands on statements beside the figures.' },
);
export type StatementPolicy = Values<typeof STATEMENTS>;

/** What stands in the file by itself. */
export const SINGLE = section({
  holds: setting(
    'holds',
    Type.Enum(['full', 'elastic'], {
      description:
        'elastic: streams whose billed output can all be seen hold a part, extended as the answer grows. full: the worst case is held at once. Default: elastic.',
    }),
    'elastic',
    (given) => given,
  ),
  elastic_keys: setting(
    'elasticKeys',
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'Ids of keys whose streams have elastic holds, regardless of `holds`.',
    }),
    [],
    (given): readonly string[] => given,
  ),
  access_log: flag('accessLog', "Whether each request is a line of the process's log, at the level info.", true),
  account_page: flag('accountPage', 'Whether key holders can look at their own key in a browser, at /account.', false),
});

/** What holds for providers that operators define, beside what holds for those of the file. */
export const PROVIDERS_BY_API = section(
  {
    allow_private: flag(
      'allowPrivate',
      'Whether their addresses may lead to this machine or into a private network.',
      false,
    ),
    references: setting(
      'references',
      Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
        maxItems: 1_000,
        description:
          'What their references may name: variables, and file:/path for files. Nothing else of this machine is read for them.',
      }),
      [],
      (given): readonly string[] => given,
    ),
  },
  { description: 'Providers that operators define by API, command line or console instead of in this file.' },
);
export type ProvidersByApi = Values<typeof PROVIDERS_BY_API>;

export interface Policy extends Values<typeof SINGLE>, Values<typeof AUDIT> {
  readonly limits: Limits;
  readonly usdPerCredit: number;
  readonly streams: StreamSettings;
  readonly routing: Routing;
  readonly responses: ResponseStorage;
  readonly runs: RunSettings;
  readonly requestLog: RequestLogPolicy;
  readonly statements: StatementPolicy;
  readonly providersByApi: ProvidersByApi;
  /** Null: nothing is watched. */
  readonly alerts: AlertPolicy | null;
}
