/** Images and files as parts of the AI SDK. */
import type { LanguageModelV4FilePart } from '@ai-sdk/provider';
import { refuse } from '../../wire/errors.ts';
import type { BinarySource, FilePart, ImagePart } from '../../wire/translate/turn.ts';

export interface MediaRules {
  /** The addresses that the provider itself can fetch from, by media type. */
  readonly supportedUrls: Readonly<Record<string, readonly RegExp[]>>;
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  csv: 'text/csv',
  md: 'text/markdown',
  html: 'text/html',
};

export function writeImage(part: ImagePart, rules: MediaRules): LanguageModelV4FilePart {
  return writeSource(part.source, part.at, rules);
}

export function writeFile(part: FilePart, rules: MediaRules): LanguageModelV4FilePart {
  const { source, name } = part;
  const written: LanguageModelV4FilePart =
    source.kind === 'text'
      ? { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: source.text } }
      : writeSource(source, part.at, rules);
  return name === undefined ? written : { ...written, filename: name };
}

function writeSource(source: BinarySource, at: string, rules: MediaRules): LanguageModelV4FilePart {
  if (source.kind === 'stored') return refuse(at, 'Files stored at a provider cannot be used with this model.');
  if (source.kind === 'base64') {
    return { type: 'file', mediaType: source.mediaType, data: { type: 'data', data: source.data } };
  }
  const mediaType = mediaTypeOf(source.url);
  if (mediaType === undefined || !isSupported(source.url, mediaType, rules)) {
    return refuse(
      at,
      'This model does not take images or files by their address. Send the data itself, as a data URL.',
    );
  }
  return { type: 'file', mediaType, data: { type: 'url', url: new URL(source.url) } };
}

/** The media type by the ending of the address; nothing is fetched to find out. */
function mediaTypeOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const extension = /\.([a-z0-9]{2,5})$/i.exec(new URL(url).pathname)?.[1];
  return extension === undefined ? undefined : MEDIA_TYPES[extension.toLowerCase()];
}

function isSupported(url: string, mediaType: string, { supportedUrls }: MediaRules): boolean {
  return Object.entries(supportedUrls).some(([pattern, addresses]) => {
    const prefix = pattern === '*' || pattern === '*/*' ? '' : pattern.replace(/\*$/, '');
    const applies = prefix.endsWith('/') || prefix === '' ? mediaType.startsWith(prefix) : mediaType === prefix;
    return applies && addresses.some((address) => url.search(address) >= 0);
  });
}
