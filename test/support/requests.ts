/** What the black-box tests send, and how they read what comes back. */
import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Ajv } from 'ajv';
import type { CreatedKey, KeyView } from '../../src/admin/keys/schema.ts';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import type { UsageSummary } from '../../src/endpoints/usage-schema.ts';
import { ErrorA, ErrorB } from '../../src/wire/schema/error-envelopes.ts';
import { type Call, call, type StartedGateway } from './started-gateway.ts';

export type GenerationName = 'chat' | 'responses' | 'messages';
export const GENERATIONS: readonly GenerationName[] = ['chat', 'responses', 'messages'];
/** The endpoints that take a body. */
export const POSTS: readonly EndpointName[] = [
  'chat',
  'responses',
  'input_tokens',
  'compact',
  'messages',
  'count_tokens',
];

const MODELS: Readonly<Record<string, string>> = { messages: 'sandbox/beta', count_tokens: 'sandbox/beta' };

/** A valid body of the endpoint whose user says `said`; `extra` adds fields or replaces them. */
export function bodyOf(name: EndpointName, said = 'Hello', extra: object = {}): object {
  const model = MODELS[name] ?? 'sandbox/alpha';
  if (ENDPOINTS[name].format === 'responses') return { model, input: said, ...extra };
  return { model, messages: [{ role: 'user', content: said }], ...extra };
}

/** The endpoints that are asked about a response of the key. */
export const isAboutResponse = (name: EndpointName): boolean => ENDPOINTS[name].path.startsWith('/v1/responses/{id}');

/** One request to an endpoint at the key's own origin, by default with a valid body, or about something that there is. */
export async function visit(key: CreatedKey, name: EndpointName, sent: Call = {}): Promise<Response> {
  const { method, path } = ENDPOINTS[name];
  const body = POSTS.includes(name) ? { body: bodyOf(name) } : {};
  const id = isAboutResponse(name) ? await storedResponseId(key) : 'sandbox/alpha';
  return call(key.origin + path.replace('{id}', id), { method, key: key.key, ...body, ...sent });
}

/** The id of a new response; of one that is not there, where the key gets none. */
async function storedResponseId(key: CreatedKey): Promise<string> {
  const response = await visit(key, 'responses');
  const { id } = (await response.json()) as { id?: string };
  return id ?? 'resp_none';
}

export function say(key: CreatedKey, name: EndpointName, said: string, extra: object = {}): Promise<Response> {
  return visit(key, name, { body: bodyOf(name, said, extra) });
}

const ajv = new Ajv({ strict: false });
const isErrorA = ajv.compile<ErrorA>(ErrorA);
const isErrorB = ajv.compile<ErrorB>(ErrorB);

export interface ErrorReply {
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly message: string;
  readonly param: string | null;
  readonly headers: Headers;
}

/** The error that a response tells, after its envelope and request id have been held against the interface. */
export async function errorReply(response: Response, envelope: 'A' | 'B'): Promise<ErrorReply> {
  return readError(response.status, response.headers, await response.text(), envelope);
}

export function readError(status: number, headers: Headers, body: string, envelope: 'A' | 'B'): ErrorReply {
  assert.match(headers.get('content-type') ?? '', /^application\/json/, `status ${status}: ${body.slice(0, 200)}`);
  const parsed: unknown = JSON.parse(body);
  const requestId = headers.get('x-request-id');
  assert.match(requestId ?? '', /^req_[0-9a-f]{32}$/);
  const retryAfter = headers.get('retry-after');
  if (status === 429 || status === 503) assert.match(retryAfter ?? '', /^\d+$/, 'Retry-After on 429 and 503');
  if (envelope === 'A') {
    assert.ok(isErrorA(parsed), `envelope A: ${body}`);
    assert.equal('type' in parsed, false);
    assert.equal(parsed.error.request_id, requestId);
    return { status, headers, ...parsed.error, param: parsed.error.param ?? null };
  }
  assert.ok(isErrorB(parsed), `envelope B: ${body}`);
  assert.equal(parsed.request_id, requestId);
  assert.equal(parsed.error.request_id, requestId);
  assert.equal(headers.get('request-id'), requestId, 'Format B names the id as request-id too');
  const extra = parsed.error as { code?: string; param?: string };
  return { status, headers, ...parsed.error, code: extra.code ?? '', param: extra.param ?? null };
}

/** The error of a request that must be refused with this status and code. */
export async function refusal(
  response: Response | Promise<Response>,
  name: EndpointName,
  status: number,
  code: string,
): Promise<ErrorReply> {
  const error = await errorReply(await response, ENDPOINTS[name].envelope);
  assert.deepEqual([error.status, error.code], [status, code], `${name}: ${error.message}`);
  return error;
}

export async function usage(key: CreatedKey): Promise<UsageSummary> {
  const response = await visit(key, 'usage');
  assert.equal(response.status, 200);
  return (await response.json()) as UsageSummary;
}

/** Everything of a key's account that a charge or a hold would move. */
export async function account(gateway: StartedGateway, key: CreatedKey): Promise<object> {
  const { used, reserved, live_holds, requests, input_tokens, output_tokens } = await gateway.admin.showKey(key.id);
  return { used, reserved, live_holds, requests, input_tokens, output_tokens };
}

/** Waits until the key's account is as wanted: the end of an exchange whose client has gone has no other witness. */
export async function accountWhen(
  gateway: StartedGateway,
  key: CreatedKey,
  wanted: (view: KeyView) => boolean,
): Promise<KeyView> {
  for (const deadlineMs = Date.now() + 120_000; Date.now() < deadlineMs; await delay(10)) {
    const view = await gateway.admin.showKey(key.id);
    if (wanted(view)) return view;
  }
  throw new Error(`key ${key.id} never got there: ${JSON.stringify(await gateway.admin.showKey(key.id))}`);
}

export async function auditClean(gateway: StartedGateway): Promise<void> {
  const audit = await gateway.audit();
  assert.deepEqual(audit.findings, []);
  assert.equal(audit.ok, true);
  assert.equal(audit.live_holds, 0);
}

export interface RawReply {
  readonly status: number;
  readonly headers: Headers;
  readonly rawHeaders: IncomingHttpHeaders;
  readonly text: string;
}

export interface RawCall {
  readonly method?: string;
  /** Sent as given, instead of the address's own. */
  readonly path?: string;
  /** Sent as given: names may come twice. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array;
  /** Sends the body without a Content-Length. */
  readonly chunked?: boolean;
}

/** A request whose headers and framing `fetch` would not let through. */
export function rawCall(url: string, sent: RawCall = {}): Promise<RawReply> {
  const { host, hostname, port, pathname, search } = new URL(url);
  const { method = 'GET', path = pathname + search, headers = [], body, chunked } = sent;
  const length: [string, string][] =
    body === undefined
      ? []
      : chunked
        ? [['transfer-encoding', 'chunked']]
        : [['content-length', String(Buffer.byteLength(body))]];
  const flat = [['host', host] as const, ...length, ...headers].flat();
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, method, agent: false, headers: flat });
    request.on('error', reject);
    request.on('response', (response) => {
      text(response).then((body) => {
        const fields = new Headers();
        for (const [name, value] of Object.entries(response.headers)) fields.set(name, String(value));
        resolve({ status: response.statusCode ?? 0, headers: fields, rawHeaders: response.headers, text: body });
      }, reject);
    });
    request.end(body);
  });
}

/** What the gateway answers to these bytes before it closes the connection. */
export async function rawBytes(origin: string, bytes: string): Promise<RawReply> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(bytes);
  const answer = await text(socket);
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, rawHeaders: {}, text: rest.join('\r\n\r\n') };
}

/** The JSON of every `data:` line; `[DONE]` stays text. */
export function events(stream: string): unknown[] {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)));
}

interface Answer {
  readonly choices?: readonly { readonly message: { readonly content: string } }[];
  readonly output?: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly content?: readonly { readonly text: string }[];
}

/** The text of a whole answer. */
export async function answerText(name: GenerationName, response: Response): Promise<string> {
  const answer = (await response.json()) as Answer;
  const text = {
    chat: answer.choices?.[0]?.message.content,
    responses: answer.output?.[0]?.content[0]?.text,
    messages: answer.content?.[0]?.text,
  }[name];
  assert.ok(text !== undefined, JSON.stringify(answer));
  return text;
}
