/** The log as a person reads it: what a pipe gets as a line of JSON, a terminal gets as a time, a message and its fields. */

const LEVELS: Readonly<Record<string, string>> = { debug: 'debug ', info: '', warn: 'warning: ', error: 'error: ' };

/** `line` is one that the log has written. */
export function terminalLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = new Date(String(time)).toTimeString().slice(0, 8);
  const values = Object.entries(fields).map(([name, value]) => ` ${name}=${shown(value)}`);
  const text = `${clock} ${LEVELS[String(level)] ?? ''}${String(msg)}${values.join('')}`;
  return `${text}${errorText(err)}\n`;
}

/** A text without spaces as it is, everything else as JSON. */
function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}

function errorText(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const stack = Reflect.get(err, 'stack') ?? Reflect.get(err, 'message');
  return stack === undefined ? '' : `\n  ${String(stack).replaceAll('\n', '\n  ')}`;
}
