/** What both stores decide alike about responses that are kept. */
import { type Row, text, textOrNull } from '../../storage/columns.ts';
import type { ChainOutcome, RunEnd, StoredLink, StoredResponse } from '../port.ts';

/** A use renews what is kept, but not more often than this share of its time: a long chain is not written at each turn. */
export const RENEWALS_PER_LIFETIME = 24;
/** Responses are large, so fewer of them are removed at a time than of other rows. */
export const PRUNED_RESPONSES_MAX = 20;

/** What a kept response counts against the limits, in bytes. */
export function responseBytes({ input, output, response }: StoredResponse): number {
  return Buffer.byteLength(input ?? '') + Buffer.byteLength(output) + Buffer.byteLength(response);
}

export function eventBytes({ events }: RunEnd): number {
  return events.reduce((sum, { frames }) => sum + frames.length, 0);
}

export type FoundLink = Pick<StoredResponse, 'id' | 'parentId' | 'input' | 'output'>;

export function linkFrom(row: Row): FoundLink {
  return {
    id: text(row, 'id'),
    parentId: textOrNull(row, 'parent_id'),
    input: textOrNull(row, 'input'),
    output: text(row, 'output'),
  };
}

/** `found`: from the response `id` on towards the first, up to one that is missing, comes up twice or is too much. */
export function chainOf(id: string, found: readonly FoundLink[], bytesMax: number): ChainOutcome {
  const links: StoredLink[] = [];
  const seen = new Set<string>();
  let next: string | null = id;
  let bytes = 0;
  for (const { id: foundId, parentId, input, output } of found) {
    if (input === null) return { kind: 'unknown', id: foundId };
    bytes += Buffer.byteLength(input) + Buffer.byteLength(output);
    if (bytes > bytesMax) return { kind: 'too_large' };
    links.push({ id: foundId, parentId, input, output });
    seen.add(foundId);
    next = parentId;
  }
  if (next === null) return { kind: 'chain', links: links.reverse() };
  return seen.has(next) ? { kind: 'cycle' } : { kind: 'unknown', id: next };
}
