/** What a command prints, and what it sends. */

export interface Output {
  readonly text: string;
  /** For the error output, where it does not disturb what is read by a program. */
  readonly warning?: string | null;
  readonly exitCode: number;
}

export function json(value: unknown): Output {
  return { text: `${JSON.stringify(value)}\n`, exitCode: 0 };
}

export function lines(rows: readonly string[]): Output {
  return { text: `${rows.join('\n')}\n`, exitCode: 0 };
}

/** Removes the flags that were not given. */
export function withoutAbsent<T extends object>(input: T): T {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as T;
}
