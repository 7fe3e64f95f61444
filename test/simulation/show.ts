/** For messages: any value on one line. */
export function show(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`;
    return part instanceof Uint8Array ? [...part] : part;
  });
}
