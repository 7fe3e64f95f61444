/** Why the bytes of a peer are not accepted as HTTP/1.1. The connection ends: nothing that follows can be trusted. */

type Http1Fault =
  | 'malformed'
  /** A head, or another part that is bounded, is larger than its bound. */
  | 'too_large'
  | 'too_many_fields'
  | 'no_host'
  /** Its content comes in too many pieces that are too small. */
  | 'tiny_chunks'
  | 'too_slow';

/** Why a request is refused before it reaches a handler. */
export type RequestFault =
  | Http1Fault
  | 'too_many_connections'
  | 'too_many_of_address'
  /** Too many others of its connection wait for their responses. */
  | 'too_many_waiting';

export class Http1Error extends Error {
  readonly code: Http1Fault;

  constructor(code: Http1Fault, message: string) {
    super(message);
    this.name = 'Http1Error';
    this.code = code;
  }
}
