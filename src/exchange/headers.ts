/** The request headers that the gateway reads. */

export type ReadHeader =
  | 'authorization'
  | 'x-api-key'
  | 'idempotency-key'
  | 'compat-version'
  | 'anthropic-version'
  | 'anthropic-beta'
  | 'x-request-id';

export interface RequestHeaders {
  /** Repeated headers are joined with a comma. */
  get(name: ReadHeader): string | null;
  repeated(name: ReadHeader): boolean;
}
