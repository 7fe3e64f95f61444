/** The signature of thinking blocks, whichever format the reasoning came from. */
import { packThought } from '../translate/packed-reasoning.ts';
import type { Thought } from '../translate/turn.ts';

/** What stands as the signature of a thinking block: its own, or the thought of another format packed into one. */
export function signatureOf(thought: Thought): string {
  if (thought.origin === 'messages') return thought.signature ?? '';
  return packThought(thought.origin === 'chat' ? { origin: 'chat', texts: [] } : thought);
}
