/**
 * Rendezvous hashing: of several names, the one that belongs to a conversation. It is the same in every process without
 * anything being remembered, and a name that comes or goes moves only the conversations that were its own.
 */
import { hash } from 'node:crypto';

/** Above 0 and below 1, evenly spread. */
function position(conversation: string, name: string): number {
  const digest = hash('sha1', `${conversation}\n${name}`, 'hex');
  return (Number.parseInt(digest.slice(0, 12), 16) + 0.5) / 2 ** 48;
}

/** How strongly a name draws the conversation; over many conversations each name wins by its weight. */
export function rendezvousScore(conversation: string, name: string, weight: number): number {
  return weight <= 0 ? 0 : -weight / Math.log(position(conversation, name));
}
