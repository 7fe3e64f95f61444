/** The shape of the config file: one schema is the validator, the TypeScript type and the document for editors. */
import type { Static } from 'typebox';
import {
  AUDIT,
  LIMITS,
  PROVIDERS_BY_API,
  REQUEST_LOG,
  RESPONSES,
  ROUTING,
  RUNS,
  SINGLE,
  STATEMENTS,
  STREAMS,
  USAGE_RECORDS,
} from '../core/policy.ts';
import { PROVIDER_SWITCHES, TIMEOUTS } from '../core/provider.ts';
import { Type } from '../lib/schema-builder.ts';
import { closed, text } from '../lib/setting-rows.ts';
import { AlertsSchema } from './alerts.ts';
import { FormatName, ModelSchema, ProviderName, type TargetSchema } from './model-schema.ts';
import { HostedTools, Markup, Multipliers } from './price-schema.ts';

/** A larger file is refused before it is read. */
export const FILE_BYTES_MAX = 1024 * 1024;

const Secret = text(
  '^[!-~]{1,4096}$',
  'printable ASCII characters without spaces',
  'A credential of the provider, best taken from the environment.',
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
    timeouts: TIMEOUTS.schema,
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
    count_tokens: Type.Optional(
      Type.Boolean({
        description:
          'Whether it offers /v1/messages/count_tokens, or /v1/responses/input_tokens, for the formats that it has.',
      }),
    ),
    hosted_tools: HostedTools,
    multipliers: Multipliers,
    ...PROVIDER_SWITCHES.properties,
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
    providers_by_api: PROVIDERS_BY_API.schema,
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
    holds: SINGLE.properties.holds,
    elastic_keys: SINGLE.properties.elastic_keys,
    limits: LIMITS.schema,
    streams: STREAMS.schema,
    responses: RESPONSES.schema,
    runs: RUNS.schema,
    request_log: REQUEST_LOG.schema,
    access_log: SINGLE.properties.access_log,
    account_page: SINGLE.properties.account_page,
    usage: USAGE_RECORDS.schema,
    statements: STATEMENTS.schema,
    alerts: AlertsSchema,
    audit: AUDIT.schema,
    routing: ROUTING.schema,
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
