/** What answers say of a text beside the text itself: log probabilities and citations, in the terms of each format. */
import type { Block } from './answers.ts';

/** What a text is based on. Only pages have an address; only the messages format cites a place in a document. */
export type Citation =
  | { readonly url: string; readonly title: string; readonly start: number; readonly end: number }
  | { readonly document: number; readonly title: string; readonly cited: string };

function citationsOf(block: Block): readonly Citation[] {
  return block.kind === 'text' ? (block.citations ?? []) : [];
}

export function logprobsOf(pieces: readonly string[]): object[] {
  return pieces.map((token, index) => {
    const logprob = -0.25 * (index + 1);
    const bytes = [...Buffer.from(token)];
    return { token, bytes, logprob, top_logprobs: [{ token, bytes, logprob }] };
  });
}

/** Chat knows citations of pages only. */
export function chatAnnotations(block: Block): object[] {
  return citationsOf(block).flatMap((citation) => {
    if (!('url' in citation)) return [];
    const { url, title, start: start_index, end: end_index } = citation;
    return [{ type: 'url_citation', url_citation: { url, title, start_index, end_index } }];
  });
}

export function responsesAnnotations(block: Block): object[] {
  return citationsOf(block).map((citation) => {
    if (!('url' in citation))
      return { type: 'file_citation', file_id: 'file-up1', filename: citation.title, index: citation.document };
    const { url, title, start: start_index, end: end_index } = citation;
    return { type: 'url_citation', url, title, start_index, end_index };
  });
}

export function messagesCitations(block: Block): object[] {
  return citationsOf(block).map((citation) => {
    if ('url' in citation) {
      const { url, title, start, end } = citation;
      const cited_text = 'pieces' in block ? block.pieces.join('').slice(start, end) : '';
      return { type: 'web_search_result_location', url, title, cited_text, encrypted_index: 'index-up1' };
    }
    const { document: document_index, title: document_title, cited: cited_text } = citation;
    const place = { start_char_index: 0, end_char_index: cited_text.length };
    return { type: 'char_location', cited_text, document_index, document_title, file_id: null, ...place };
  });
}
