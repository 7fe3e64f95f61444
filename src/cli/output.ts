/** What a command prints. */

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
