/** The machine-readable interface, made from the very schemas that validate. */
import type { TSchema } from 'typebox';
import { CONDITIONS } from '../core/conditions.ts';
import { COMMON_STATUSES, ENDPOINTS, type Endpoint, type EndpointName, ORIGINS } from '../core/endpoints.ts';
import { CatalogModel, CatalogModelList } from '../endpoints/models-schema.ts';
import { UsageSummary } from '../endpoints/usage-schema.ts';
import { ChatRequest, ChatResponse } from '../wire/chat/schema.ts';
import { CountRequest, CountResponse, MessageRequest, MessageResponse } from '../wire/messages/schema.ts';
import {
  CompactRequest,
  CompactResponse,
  DeletedResponse,
  InputItemList,
  InputTokensRequest,
  InputTokensResponse,
  ResponsesRequest,
  ResponsesResponse,
} from '../wire/responses/schema.ts';
import { ErrorA, ErrorB } from '../wire/schema/error-envelopes.ts';

interface Operation {
  readonly summary: string;
  readonly request: TSchema | null;
  readonly response: TSchema;
  readonly streams: boolean;
  /** As an answer that can be streamed is. */
  readonly charged?: boolean;
}

const OPERATIONS: Readonly<Record<EndpointName, Operation>> = {
  models: { summary: 'List models', request: null, response: CatalogModelList, streams: false },
  get_model: { summary: 'Get one model', request: null, response: CatalogModel, streams: false },
  chat: { summary: 'Create a chat completion', request: ChatRequest, response: ChatResponse, streams: true },
  responses: {
    summary: 'Create a responses result',
    request: ResponsesRequest,
    response: ResponsesResponse,
    streams: true,
  },
  input_tokens: {
    summary: 'Count the input tokens of a response',
    request: InputTokensRequest,
    response: InputTokensResponse,
    streams: false,
  },
  compact: {
    summary: 'Summarise a conversation, so that it can go on in less input',
    request: CompactRequest,
    response: CompactResponse,
    streams: false,
    charged: true,
  },
  get_response: {
    summary: 'Get a stored response; of one in the background, as it is now, or its events',
    request: null,
    response: ResponsesResponse,
    streams: true,
    charged: false,
  },
  delete_response: { summary: 'Delete a stored response', request: null, response: DeletedResponse, streams: false },
  cancel_response: {
    summary: 'Cancel a response that runs in the background',
    request: null,
    response: ResponsesResponse,
    streams: false,
  },
  input_items: {
    summary: 'List the input items of a stored response',
    request: null,
    response: InputItemList,
    streams: false,
  },
  messages: { summary: 'Create a message', request: MessageRequest, response: MessageResponse, streams: true },
  count_tokens: { summary: 'Count input tokens', request: CountRequest, response: CountResponse, streams: false },
  usage: { summary: 'Usage and balance of the calling key', request: null, response: UsageSummary, streams: false },
};

const REQUEST_ID = { description: 'The id of this request.', schema: { type: 'string' } };
const RETRY_AFTER = { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 0 } };

const DESCRIPTION = `Chat completions, responses and messages, for every model that the gateway serves.

Send an API key with every request. Keys with credit (\`mg_c_…\`) use the paths as they are listed here; keys with a token budget
(\`mg_t_…\`) use the same paths below \`/token\`.

Every response has an \`x-request-id\`: name it when you ask the operator about a request. Errors have a \`code\`, which is what a
program should decide by, and a message for people.

\`/v1/responses\` is served over WebSocket too: a text message \`{"type": "response.create", …}\` has the members of the request
that is described here, and is answered with the events of its stream, each as a message.`;

let bytes: Buffer | null = null;

/** Serialised once: it is the same for every client. */
export function openApiBytes(): Buffer {
  bytes ??= Buffer.from(JSON.stringify(openApiDocument()));
  return bytes;
}

function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Model Gateway',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: ORIGINS.map(({ prefix, description }) => ({ url: prefix || '/', description })),
    paths: paths(Object.values(ENDPOINTS)),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key of this gateway: `mg_c_…` or `mg_t_…`.' },
        'x-api-key': { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key.' },
      },
      schemas: { ErrorA, ErrorB },
    },
  };
}

/** Several operations may have one path. */
function paths(endpoints: readonly Endpoint[]): object {
  const byPath = new Map<string, object>();
  for (const endpoint of endpoints) {
    const known = byPath.get(endpoint.path) ?? {};
    byPath.set(endpoint.path, { ...known, [endpoint.method.toLowerCase()]: operation(endpoint) });
  }
  return Object.fromEntries(byPath);
}

function operation(endpoint: Endpoint): object {
  const { summary, request, response, streams, charged = streams } = OPERATIONS[endpoint.name];
  const parameters = [
    ...pathParameters(endpoint),
    ...queryParameters(endpoint),
    ...headerParameters(endpoint, charged),
  ];
  return {
    operationId: endpoint.name,
    summary,
    security: [
      ...(endpoint.credentialOptional ? [{}] : []),
      ...endpoint.credentials.map((scheme) => ({ [scheme]: [] })),
    ],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(request ? { requestBody: { required: true, content: { 'application/json': { schema: request } } } } : {}),
    responses: {
      200: {
        description: 'Success',
        headers: { 'x-request-id': REQUEST_ID, ...usageHeaders(endpoint) },
        content: {
          'application/json': { schema: response },
          ...(streams ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
        },
      },
      ...Object.fromEntries(
        [...endpoint.statuses, ...COMMON_STATUSES].sort().map((status) => [status, errorResponse(endpoint, status)]),
      ),
    },
  };
}

function pathParameters({ path }: Endpoint): object[] {
  return path.includes('/{id}') ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] : [];
}

function queryParameters({ name }: Endpoint): object[] {
  if (name !== 'input_items' && name !== 'get_response') return [];
  const parameter = (named: string, schema: object): object => ({ name: named, in: 'query', required: false, schema });
  if (name === 'get_response') {
    const after = 'The number of an event: only later ones are streamed.';
    const stream = 'Whether the events of a response in the background are streamed.';
    return [
      parameter('stream', { type: 'boolean', default: false, description: stream }),
      parameter('starting_after', { type: 'integer', minimum: 0, description: after }),
    ];
  }
  return [
    parameter('limit', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
    parameter('order', { type: 'string', enum: ['asc', 'desc'], default: 'desc' }),
    parameter('after', { type: 'string', description: 'The id of the item that the page follows.' }),
    parameter('include', { type: 'array', items: { type: 'string', enum: ['reasoning.encrypted_content'] } }),
  ];
}

function headerParameters(endpoint: Endpoint, generates: boolean): object[] {
  const parameter = (name: string, schema: object): object => ({ name, in: 'header', required: false, schema });
  const repeat =
    'Makes a repeat safe: for 24 hours, the same request with the same key gets the first answer, at no charge.';
  const version = 'The version of the messages API, for the provider; without it, `anthropic-version` is sent.';
  return [
    ...(generates
      ? [parameter('Idempotency-Key', { type: 'string', minLength: 1, maxLength: 255, description: repeat })]
      : []),
    ...(endpoint.envelope === 'B' ? [parameter('compat-version', { type: 'string', description: version })] : []),
  ];
}

function usageHeaders(endpoint: Endpoint): object {
  if (endpoint.name !== 'usage') return {};
  return {
    'x-service-credit-remaining': { description: 'Remaining API credit, for credit keys.', schema: { type: 'number' } },
    'x-ratelimit-remaining-tokens': {
      description: 'Remaining token budget, for token-budget keys.',
      schema: { type: 'integer', minimum: 0 },
    },
  };
}

function errorResponse(endpoint: Endpoint, status: number): object {
  const rows = Object.entries(CONDITIONS).filter(([, row]) => row.status === status);
  return {
    description: rows.map(([code]) => `\`${code}\``).join(', '),
    headers: {
      'x-request-id': REQUEST_ID,
      ...(status === 429 || status === 503 ? { 'Retry-After': RETRY_AFTER } : {}),
    },
    content: { 'application/json': { schema: { $ref: `#/components/schemas/Error${endpoint.envelope}` } } },
  };
}
