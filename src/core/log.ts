/** The little of a logger that the gateway uses; pino fits it. Prompts, answers and keys are never logged. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const NO_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} };
