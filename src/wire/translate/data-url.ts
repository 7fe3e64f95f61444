/** Images and files: data URLs on one side, base64 sources on the other. */
import type { BinarySource, FilePart } from './turn.ts';

/** A data URL becomes its data; every other URL stays a reference, which the gateway never fetches. */
export function sourceOfUrl(url: string): BinarySource {
  if (!url.startsWith('data:')) return { kind: 'url', url };
  const comma = url.indexOf(',');
  const head = url.slice('data:'.length, Math.max(comma, 0));
  if (comma < 0 || !head.endsWith(';base64')) return { kind: 'url', url };
  return { kind: 'base64', mediaType: head.slice(0, -';base64'.length) || 'text/plain', data: url.slice(comma + 1) };
}

export function urlOfSource(source: Exclude<BinarySource, { kind: 'stored' }>): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** A text document for formats that know only text: its name, then what it says. */
export function documentText(part: FilePart, text: string): string {
  return part.name === undefined ? text : `${part.name}\n\n${text}`;
}
