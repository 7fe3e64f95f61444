/** The shape of the config file: one schema is the validator, the TypeScript type and the document for editors. */
import type { Static } from 'typebox';
import { Type } from '../lib/schema-builder.ts';
import { AlertsSchema } from './alerts.ts';
import { AuditSchema } from './audit.ts';
import { FormatName, ModelSchema, ProviderName, type TargetSchema } from './model-schema.ts';
import { HostedTools, Markup, Multipliers } from './price-schema.ts';
import { RequestLogSchema } from './request-log.ts';
import { ResponseStorageSchema } from './response-storage.ts';
import { closed, text } from './schema-parts.ts';
import { UsageRecordsSchema } from './usage-records.ts';

/** A larger file is refused before it is read. */
export const FILE_BYTES_MAX = 1024 * 1024;

function seconds(description: string, maximum = 3600, minimum = 0.001) {
  return Type.Optional(Type.Number({ minimum, maximum, description: `${description} In seconds.` }));
}

function bytes(description: string, maximum: number) {
  return Type.Optional(Type.Integer({ minimum: 1024, maximum, description: `${description} In bytes.` }));
}

const GIB = 1024 ** 3;

const Secret = text(
  '^[!-~]{1,4096}$',
  'printable ASCII characters without spaces',
  'A credential of the provider, best taken from the environment.',
);
const TimeoutsSchema = Type.Object(
  {
    connect: seconds('To open a connection. Default 5.', 300),
    first_byte: seconds('From sending the request to the first byte of the answer. Default 300.'),
    idle: seconds('Between two bytes of an answer. Default 120.'),
    total: seconds('A whole unstreamed exchange. Default 600.'),
  },
  closed,
);

const PEM_FILE = { minLength: 1, maxLength: 4096 };

const ProviderSchema = Type.Object(
  {
    kind: Type.Optional(
      Type.Enum(['openai', 'azure', 'anthropic', 'ai-sdk'], {
        description: 'The API that it offers. Optional for well-known names such as openai, anthropic or groq.',
      }),
    ),
    base_url: Type.Optional(
      text(
        '^(https?://[^\\s?#]+|\\$\\{.+)$',
        'an address that begins with http:// or https://, without ? and #',
        'openai: up to and including /v1. anthropic and azure: without a path. ai-sdk: the baseURL of the package.',
      ),
    ),
    api_key: Type.Optional(Secret),
    api_keys: Type.Optional(
      Type.Array(Secret, {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description: 'A pool of credentials, used in turn.',
      }),
    ),
    headers: Type.Optional(
      Type.Record(
        text('^[A-Za-z0-9_.-]{1,100}$', 'letters, digits, dots, dashes and underscores', 'Header name.'),
        text('^[\\t -~]*$', 'printable ASCII characters', 'Header value.'),
        {
          ...closed,
          description: 'Sent with every request.',
        },
      ),
    ),
    formats: Type.Optional(
      Type.Array(FormatName, {
        minItems: 1,
        uniqueItems: true,
        description: 'The formats that it supports natively. Default: by its kind and address.',
      }),
    ),
    timeouts: Type.Optional(TimeoutsSchema),
    proxy: Type.Optional(
      text(
        '^(none|https?://[^\\s?#]+|\\$\\{.+)$',
        'the address of a proxy, http://… or https://…, or none',
        'The proxy that the provider is reached through. none: no proxy, whatever HTTPS_PROXY says. Loopback addresses never go through one.',
      ),
    ),
    ca: Type.Optional(
      Type.String({
        ...PEM_FILE,
        description: 'A PEM file: the authorities that may sign its certificate, and no others.',
      }),
    ),
    client_cert: Type.Optional(
      Type.String({
        ...PEM_FILE,
        description: 'A PEM file: the certificate with which the gateway proves its identity.',
      }),
    ),
    client_key: Type.Optional(Type.String({ ...PEM_FILE, description: 'A PEM file: the private key of client_cert.' })),
    http2: Type.Optional(Type.Boolean({ description: 'Whether HTTP/2 is offered to it. Default: false.' })),
    markup: Type.Optional(Markup),
    chat_limit_field: Type.Optional(
      Type.Enum(['max_tokens', 'max_completion_tokens'], {
        description: 'The chat field in which it is sent the output limit.',
      }),
    ),
    count_tokens: Type.Optional(Type.Boolean({ description: 'Whether it offers /v1/messages/count_tokens.' })),
    hosted_tools: HostedTools,
    multipliers: Multipliers,
    store_responses: Type.Optional(
      Type.Boolean({
        description:
          'Whether the provider may store what it is sent, as its own defaults and the client say. Default: false, it is asked not to.',
      }),
    ),
    forward_traceparent: Type.Optional(
      Type.Boolean({
        description:
          'Whether it is sent the traceparent of the client, as for a server of your own. Default: false. Not for ai-sdk.',
      }),
    ),
    circuit_breaker: Type.Optional(
      Type.Boolean({
        description: 'Whether a target that keeps failing is skipped for a while. Default: true.',
      }),
    ),
    api_version: Type.Optional(
      text(
        '^[A-Za-z0-9.-]{1,40}$',
        'letters, digits, dots and dashes',
        'azure only: the api-version. Default 2024-10-21.',
      ),
    ),
    package: Type.Optional(
      text(
        '^(@[a-z0-9._-]+/)?[a-z0-9._-]+(/[a-z0-9._-]+)*$',
        'the name of an npm package',
        'ai-sdk only: the provider package, installed by you.',
      ),
    ),
    factory: Type.Optional(
      text(
        '^[A-Za-z_$][\\w$]*$',
        'the name of an export',
        'ai-sdk only: the export of the package that creates a provider. Default: its create function.',
      ),
    ),
    options: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'ai-sdk only: passed to the package.' }),
    ),
    call_options: Type.Optional(
      Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
        description: 'ai-sdk only: provider options passed with every call, by the name of the provider.',
      }),
    ),
  },
  { ...closed, description: 'An upstream account.' },
);

export const FileSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    providers: Type.Optional(
      Type.Record(ProviderName, ProviderSchema, {
        ...closed,
        description: 'By name. Without providers and models: discovered from the environment.',
      }),
    ),
    models: Type.Optional(Type.Array(ModelSchema, { maxItems: 10_000 })),
    sandbox: Type.Optional(Type.Boolean({ description: 'The built-in simulated provider. Default: true.' })),
    model_lists: Type.Optional(
      Type.Boolean({
        description:
          'Whether providers are asked for their model lists at the start, where the file leaves limits or prices open. Default: true.',
      }),
    ),
    credits: Type.Optional(
      Type.Object(
        {
          usd_per_credit: Type.Optional(
            Type.Number({ minimum: 0.000001, maximum: 1_000_000, description: 'Default 1.' }),
          ),
        },
        closed,
      ),
    ),
    tls: Type.Optional(
      Type.Object(
        {
          cert: text('^.{1,4096}$', 'a path', 'The certificate chain, PEM.'),
          key: text('^.{1,4096}$', 'a path', 'Its private key, PEM, without a passphrase.'),
        },
        {
          ...closed,
          description:
            'Serves HTTPS, and HTTP/2 to clients that ask for it. Changed files are used for new connections without a restart.',
        },
      ),
    ),
    holds: Type.Optional(
      Type.Enum(['full', 'elastic'], {
        description:
          'elastic: streams whose billed output can all be seen hold a part, extended as the answer grows. full: the worst case is held at once. Default: elastic.',
      }),
    ),
    elastic_keys: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: 'Ids of keys whose streams have elastic holds, regardless of `holds`.',
      }),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          body_bytes: bytes('The largest request body. Default 32 MiB.', GIB),
          json_values: Type.Optional(
            Type.Integer({
              minimum: 1000,
              maximum: 100_000_000,
              description:
                'Values in the JSON of one request body: members of objects and elements of arrays at every depth. Default 100000.',
            }),
          ),
          reply_bytes: bytes('The largest answer kept for an idempotent repeat. Default 1 MiB.', GIB),
          reply_buffer_bytes: bytes('All such answers of a process while they run. Default 256 MiB.', 1024 * GIB),
          settle_wait: seconds('How long the last byte waits for the charge to be stored. Default 30.', 300),
          count_wait: seconds(
            'How long a request waits for the exact count of its prompt, where the answer depends on it; after it, a 503. Default 5.',
            300,
          ),
          pre_stop: seconds(
            'How long new requests are still served after SIGTERM while /readyz is a 503 already, so that load balancers notice. Default 5.',
            3600,
            0,
          ),
          drain: seconds('How long running requests may continue after a stop signal. Default 30.', 3600, 0),
          connections: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1_000_000,
              description:
                'Connections of clients that a process serves at the same time. Default: what its limit of open files leaves when each needs one more to a provider.',
            }),
          ),
          connections_per_address: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1_000_000,
              description:
                'Connections of one client address (of IPv6: 64 bits of it) that a process serves at the same time; those of trusted proxies are not counted. Default: no limit but that of all.',
            }),
          ),
          header_bytes: bytes('The request line and the headers of a request together. Default 32 KiB.', 1024 * 1024),
          header_count: Type.Optional(
            Type.Integer({ minimum: 10, maximum: 2000, description: 'Headers of a request. Default 200.' }),
          ),
          keep_alive_timeout: seconds('How long a connection without a request is kept open. Default 75.'),
          headers_timeout: seconds('For a client to send the headers of a request. Default 20.', 300),
          body_timeout: seconds('For a client to send a request, headers and body. Default 120.'),
        },
        closed,
      ),
    ),
    streams: Type.Optional(
      Type.Object(
        {
          total: seconds('From acceptance to the end of a stream. Default and most: 300.', 300),
          keep_alive: seconds('Silence after which a keep-alive is sent; 0: never. Default 10.', 300, 0),
          hold_wait: seconds(
            'How long a stream waits for other requests when their holds keep its own from growing. Default 10.',
            60,
            0,
          ),
          headers_wait: seconds(
            'How long the 200 waits for the first event once the provider has accepted. Default 15.',
            300,
          ),
        },
        closed,
      ),
    ),
    responses: ResponseStorageSchema,
    request_log: RequestLogSchema,
    access_log: Type.Optional(
      Type.Boolean({
        description: "Whether each request is a line of the process's log, at the level info. Default: true.",
      }),
    ),
    account_page: Type.Optional(
      Type.Boolean({
        description: 'Whether key holders can look at their own key in a browser, at /account. Default: false.',
      }),
    ),
    usage: UsageRecordsSchema,
    alerts: AlertsSchema,
    audit: AuditSchema,
    routing: Type.Optional(
      Type.Object(
        {
          order: Type.Optional(
            Type.Enum(['listed', 'weighted', 'least-latency'], {
              description: 'Default: weighted when a target has a weight, else listed.',
            }),
          ),
          cache_affinity: Type.Optional(
            Type.Boolean({
              description:
                'Whether the requests of a conversation go to the same target and credential, where the provider has its prompt cached. Default: true.',
            }),
          ),
          max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, description: 'Default 3.' })),
          attempt_budget: seconds('The time for all attempts before the first byte to the client. Default 30.', 600),
        },
        closed,
      ),
    ),
  },
  { ...closed, title: 'Model Gateway configuration' },
);

export type FileConfig = Static<typeof FileSchema>;
export type FileProvider = Static<typeof ProviderSchema>;
export type FileModel = Static<typeof ModelSchema>;
export type FileTarget = Static<typeof TargetSchema>;

/** The text of the published schema file. */
export function publishedSchema(): string {
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...FileSchema }, null, 2)}\n`;
}
