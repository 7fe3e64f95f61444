/** What may be written into the head of a request: nothing that could end a line, or frame the body another way. */
import type { Destination } from '../client.ts';

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** They belong to the connection, which is the transport's own. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'content-length',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);

export function isSendable({ path, headers }: Destination): boolean {
  return PATH.test(path) && Object.entries(headers).every(([name, value]) => isSendableField(name, value));
}

function isSendableField(name: string, value: string): boolean {
  return NAME.test(name) && !OWN_NAMES.has(name.toLowerCase()) && !NOT_IN_VALUE.test(value);
}
