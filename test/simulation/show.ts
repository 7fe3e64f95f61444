/** A value on one line, for messages. */
export function show(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`;
    return part instanceof Uint8Array ? [...part] : part;
  });
}
