/** A generation request as it arrived, before anything of its body has been read. */
import type { GatewayError } from '../core/conditions.ts';
import type { Endpoint, Format } from '../core/endpoints.ts';
import type { Caller } from './authenticate.ts';
import type { RequestHeaders } from './headers.ts';

/** An endpoint whose body has a format. */
export type GenerationEndpoint = Endpoint & { readonly format: Format };

export interface Arrival {
  readonly requestId: string;
  readonly endpoint: GenerationEndpoint;
  /** As the client wrote it, without the query: part of the idempotency fingerprint. */
  readonly path: string;
  readonly caller: Caller;
  readonly headers: RequestHeaders;
  /** The exact bytes; null when they could not be had, and `bodyProblem` says why. */
  readonly body: Buffer | null;
  readonly bodyProblem: GatewayError | null;
  readonly receivedAtMs: number;
}
