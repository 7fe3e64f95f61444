/** The one error of the admin API. */

export type AdminErrorCode =
  | 'invalid_input'
  | 'unknown_key'
  | 'unknown_operator'
  | 'unknown_account'
  | 'refused'
  | 'precondition_failed'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'too_large'
  | 'rate_limited'
  | 'unavailable'
  | 'internal';

/** Its message is one sentence for the operator: what is wrong, and what is expected. */
export class AdminError extends Error {
  readonly code: AdminErrorCode;
  /** The input field that the message begins with, where there is one. */
  readonly field: string | null;

  constructor(code: AdminErrorCode, message: string, details: { field?: string | null; cause?: unknown } = {}) {
    super(message, { cause: details.cause });
    this.name = 'AdminError';
    this.code = code;
    this.field = details.field ?? null;
  }
}
