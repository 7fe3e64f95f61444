/** Why bytes of a peer are not taken for HTTP/1.1. The connection is over then: nothing behind them can be trusted. */

export type Http1Fault =
  | 'malformed'
  /** A head, or another part that is bounded, is larger than its bound. */
  | 'too_large'
  | 'too_many_fields'
  | 'no_host'
  | 'too_slow';

export class Http1Error extends Error {
  readonly code: Http1Fault;

  constructor(code: Http1Fault, message: string) {
    super(message);
    this.name = 'Http1Error';
    this.code = code;
  }
}
