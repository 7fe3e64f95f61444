/** The signature of thinking blocks, whichever format the reasoning came from. */
import { packReasoning } from '../translate/packed-reasoning.ts';
import type { ReasoningBlock } from '../translate/turn.ts';

/** The signature of a thinking block: its own, or the reasoning of another format packed into one. */
export function signatureOf(reasoning: ReasoningBlock): string {
  if (reasoning.origin === 'messages') return reasoning.signature ?? '';
  return packReasoning(reasoning.origin === 'chat' ? { origin: 'chat', texts: [] } : reasoning);
}
