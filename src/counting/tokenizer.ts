/** Which tokenizer a model counts with, as far as its name says. */
import type { Target } from '../core/model.ts';

/** `other`: not at hand; its counts are estimated from those that are. */
export type Tokenizer = 'o200k_base' | 'cl100k_base' | 'other';
export type Encoding = Exclude<Tokenizer, 'other'>;

const NAMES: readonly (readonly [name: RegExp, tokenizer: Encoding])[] = [
  [/^(gpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|chatgpt-4o|o[134](-|$))/, 'o200k_base'],
  [/^(gpt-4|gpt-3\.5)/, 'cl100k_base'],
];

/** The tokenizer that all of these targets share. */
export function tokenizerOf(targets: readonly Target[]): Tokenizer {
  const [first, ...rest] = targets.map(({ upstreamModel }) => tokenizerNamed(upstreamModel));
  return first !== undefined && rest.every((other) => other === first) ? first : 'other';
}

function tokenizerNamed(upstreamModel: string): Tokenizer {
  // Resellers put the maker's name in front.
  const name = upstreamModel.startsWith('openai/') ? upstreamModel.slice('openai/'.length) : upstreamModel;
  return NAMES.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';
}

/** The encodings that a count for this tokenizer needs. */
export function encodingsFor(tokenizer: Tokenizer): readonly Encoding[] {
  return tokenizer === 'other' ? ['o200k_base', 'cl100k_base'] : [tokenizer];
}
