/** A request on its way through the gateway: as it arrived, who sent it, and what its body says. Types only. */
import type { GatewayError } from '../core/conditions.ts';
import type { Endpoint, Format } from '../core/endpoints.ts';
import type { KeyRecord, Mode } from '../core/key.ts';
import type { RequestRecord } from '../core/request-record.ts';
import type { CostFields } from '../wire/cost-fields.ts';
import type { RequestInfo } from '../wire/format.ts';
import type { ParsedBody } from '../wire/json/parse-request.ts';
import type { Compaction } from '../wire/responses/compaction.ts';
import type { RequestState } from './request-state.ts';
import type { ResponseMemory } from './response-memory.ts';

/** The request headers that the gateway reads. */
export type ReadHeader =
  | 'authorization'
  | 'x-api-key'
  | 'idempotency-key'
  | 'compat-version'
  | 'anthropic-version'
  | 'anthropic-beta'
  | 'x-request-id'
  | 'session_id'
  | 'x-session-id';

export interface RequestHeaders {
  /** Repeated headers are joined with a comma. */
  get(name: ReadHeader): string | null;
  repeated(name: ReadHeader): boolean;
}

/** A request to an endpoint, before anything of its body has been read; `http/` makes it. */
export interface ClientRequest<E extends Endpoint = Endpoint> {
  readonly requestId: string;
  readonly endpoint: E;
  /** The mode of the origin that it was sent to. */
  readonly originMode: Mode;
  /** The scheme and host that the request came to; null where it names no host. */
  readonly origin: string | null;
  /** The path as the client wrote it, without the query: part of the idempotency fingerprint. */
  readonly path: string;
  /** What follows the question mark; empty where there is none. */
  readonly query: string;
  readonly headers: RequestHeaders;
  /** Behind the operator's own proxies, as they tell it; empty where nobody does. An IPv4 address is written as one. */
  readonly clientAddress: string;
  /** The record of the request; each stage notes what it knows. */
  readonly record: RequestRecord;
  /** Of the connection, where it lasts for several responses. */
  readonly memory?: ResponseMemory | undefined;
  /** The exact bytes, or why they could not be had. To be called once. */
  readBody(limitBytes: number): Promise<Buffer | GatewayError>;
}

/** An endpoint whose body has a format. */
export type FormatEndpoint = Endpoint & { readonly format: Format };
export type GenerationRequest = ClientRequest<FormatEndpoint>;

/** The key that a credential belongs to, and the digest by which it was found. */
export interface Caller {
  readonly key: KeyRecord;
  readonly digest: string;
}

/** A response that is made in the background: what its client asked for beside it. */
export interface RunRequest {
  /** Whether the answer to the request is the stream of the run's events. */
  readonly streamed: boolean;
}

/** A body that its format's schema and rules have accepted, and what admission and lanes need to know of it. */
export interface ValidRequest extends ParsedBody {
  readonly info: RequestInfo;
  readonly costFields: CostFields;
  /** Only of requests in the responses format. */
  readonly state?: RequestState | undefined;
  /** The answer is the summary of a conversation, to be handed out as a compaction. */
  readonly compaction?: Compaction | undefined;
  /** The answer is made in the background. */
  readonly run?: RunRequest | undefined;
}

/** The result of reading a body: a refusal is kept until the request has been counted against the rate limit. */
export type ReadRequest = ValidRequest | GatewayError;
