/** The conversations of the golden matrix. */
import { AGENTS } from './conversations/agents.ts';
import { BASICS } from './conversations/basics.ts';
import { CONTENT } from './conversations/content.ts';
import type { Conversation } from './conversations/conversation.ts';
import { SETTINGS } from './conversations/settings.ts';
import { TEXTS } from './conversations/texts.ts';
import { TOOLS } from './conversations/tools.ts';

export const CONVERSATIONS: readonly Conversation[] = [
  ...BASICS,
  ...TOOLS,
  ...CONTENT,
  ...SETTINGS,
  ...TEXTS,
  ...AGENTS,
];
