/** The little of a logger that the gateway uses. Prompts, answers and keys are never logged. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** One line per request, at level `info`. Its fields are a closed set in which no secret can be. */
  access(fields: object): void;
}

export const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {}, access() {} };
