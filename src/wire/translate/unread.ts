/** Text of a target's answer that no other format has a place for. */
import type { Json } from '../../lib/json.ts';
import { generatedTexts } from '../generated-text.ts';
import type { TurnEvent } from './turn.ts';

export function unread(value: Json | undefined): readonly TurnEvent[] {
  return generatedTexts(value).map((text) => ({ type: 'unread', text }));
}
