/** Citations of one family in the terms of the other. Positions are those of the text written so far. */
import { type JsonObject, numberAt, stringAt } from '../../lib/json.ts';
import type { Annotation } from './turn.ts';

/** Where in its text an annotation stands when the source format does not say: the whole of the block so far. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function responsesAnnotation(annotation: Annotation, span: Span): JsonObject {
  const { raw } = annotation;
  if (annotation.format === 'responses') return raw;
  const url = stringAt(raw, 'url') ?? (raw.type === 'search_result_location' ? stringAt(raw, 'source') : undefined);
  const title = stringAt(raw, 'title') ?? stringAt(raw, 'document_title') ?? '';
  if (url !== undefined) return { type: 'url_citation', url, title, start_index: span.start, end_index: span.end };
  const index = numberAt(raw, 'document_index') ?? 0;
  return { type: 'file_citation', file_id: stringAt(raw, 'file_id') ?? '', filename: title, index };
}

export function messagesCitation(annotation: Annotation, span: Span): JsonObject {
  const { raw } = annotation;
  if (annotation.format === 'messages') return raw;
  const start = numberAt(raw, 'start_index') ?? span.start;
  const end = numberAt(raw, 'end_index') ?? span.end;
  const cited = span.text.slice(start - span.start, end - span.start);
  const url = stringAt(raw, 'url');
  if (url !== undefined) {
    const title = stringAt(raw, 'title') ?? null;
    return { type: 'web_search_result_location', cited_text: cited, url, title, encrypted_index: '' };
  }
  return {
    type: 'char_location',
    cited_text: cited,
    document_index: numberAt(raw, 'index') ?? 0,
    document_title: stringAt(raw, 'filename') ?? null,
    start_char_index: 0,
    end_char_index: 0,
    file_id: stringAt(raw, 'file_id') ?? null,
  };
}
