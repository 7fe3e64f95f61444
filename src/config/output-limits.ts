/**
 * Output limits by family of model, for models without a configured one. The gateway always sends a limit, and
 * a provider refuses one above its own, so these are accepted by every version of a family.
 */
const FAMILIES: readonly (readonly [family: RegExp, limit: number])[] = [
  [/claude-(2|instant|3-(haiku|opus|sonnet))/, 4096],
  [/claude-3[.-]5/, 8192],
  [/claude-3[.-]7/, 64_000],
  [/claude-(4-opus|opus-4([.-][01])?(-\d{8})?$)/, 32_000],
  [/claude-(4-sonnet|(opus|sonnet|haiku|fable)-\d)/, 64_000],
  [/gpt-4o-2024-05-13/, 4096],
  [/gpt-4o|gpt-4\.5|gpt-5[\w.-]*-chat|gpt-chat|gpt-5\.3$/, 16_384],
  [/gpt-4\.1/, 32_768],
  [/gpt-[56]/, 128_000],
  [/(^|\/)o1-(preview|mini)/, 32_768],
  [/(^|\/)o[134](-|$)/, 100_000],
  [/gemini-(2\.5|[3-9])/, 65_536],
  [/gemini-(1\.5|2\.0)/, 8192],
  [/deepseek/, 8192],
  [/grok-\d/, 16_384],
];

const UNKNOWN_FAMILY_LIMIT = 4096;

/** Never more than the context window. */
export function usualOutputLimit(upstreamModel: string, contextWindow: number | null): number {
  const name = upstreamModel.toLowerCase();
  const limit = FAMILIES.find(([family]) => family.test(name))?.[1] ?? UNKNOWN_FAMILY_LIMIT;
  return contextWindow === null ? limit : Math.min(limit, contextWindow);
}
