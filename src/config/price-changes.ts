/** Prices that take effect at a time: when that is, and what counts then. */
import type { UsdPricing } from './pricing.ts';
import type { FileModel } from './schema.ts';

type FilePriceChange = NonNullable<FileModel['prices']>[number];

/** What a caller is charged by: the provider's prices, and what they are multiplied by. */
export interface PriceTerm {
  readonly usd: UsdPricing;
  readonly markup: number | undefined;
  /** Whether the prices are those of a change: the operator's, wherever those before it came from. */
  readonly changed: boolean;
}

/** Null where there is no such day or time. A day begins at 00:00 UTC. */
export function priceTimeMs(from: string): number | null {
  const day = from.slice(0, 10);
  const atMs = Date.parse(from);
  if (Number.isNaN(atMs)) return null;
  // 30 February would be read as a day of March.
  return new Date(Date.parse(day)).toISOString().startsWith(day) ? atMs : null;
}

/** In the order of time: what each change leads to, together with what those before it have changed. */
export function priceTerms(
  base: PriceTerm,
  changes: readonly FilePriceChange[],
): readonly (PriceTerm & { readonly fromMs: number })[] {
  let term = base;
  return changes
    .map((change) => ({ change, fromMs: priceTimeMs(change.from) ?? Number.POSITIVE_INFINITY }))
    .toSorted((a, b) => a.fromMs - b.fromMs)
    .map(({ change: { pricing, markup }, fromMs }) => {
      term = {
        usd: pricing ?? term.usd,
        markup: markup ?? term.markup,
        changed: term.changed || pricing !== undefined,
      };
      return { ...term, fromMs };
    });
}
