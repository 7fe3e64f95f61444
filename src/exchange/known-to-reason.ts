/** Models that reason without being asked to, by the names that their provider gives them. */
const FAMILIES = /^(?:[\w.-]+\/)?(?:o[1-9](?:-|$)|gpt-(?:[5-9]|oss)(?!.*-chat)|codex-|grok-4)/;

/** False where nobody knows: then only a request that asks for reasoning gets it. */
export function isKnownToReason(upstreamModel: string): boolean {
  return FAMILIES.test(upstreamModel);
}
