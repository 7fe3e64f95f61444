/** The head of a request as it is written. Nothing that could end a line, or frame the body another way, gets into it. */

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** They belong to the connection, which is this side's own. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);

/** Names that were found to be fit. They come from the configuration and from this program, so they are few. */
const fitNames = new Set<string>();
const FIT_NAMES_MAX = 1_000;

/** To be written as Latin-1; the length of the body ends it. Null where the path or a header is one that cannot be sent. */
export function headWithoutLength(
  host: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): string | null {
  if (!PATH.test(path)) return null;
  let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (NOT_IN_VALUE.test(value) || !isFit(name)) return null;
    head += `${name}: ${value}\r\n`;
  }
  return head;
}

function isFit(name: string): boolean {
  if (fitNames.has(name)) return true;
  if (!NAME.test(name) || OWN_NAMES.has(name.toLowerCase())) return false;
  if (fitNames.size < FIT_NAMES_MAX) fitNames.add(name);
  return true;
}
