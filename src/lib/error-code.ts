/** The code that Node, a driver or the system gave an error, e.g. `ENOENT`; null where it has none. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
