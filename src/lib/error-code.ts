/** The code that Node, a driver or the system gave an error, e.g. `ENOENT`; null where it has none. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** The code, or else what the error is called. */
export function errorCodeOrName(error: unknown): string {
  return errorCode(error) ?? (error instanceof Error ? error.name : 'unknown');
}
