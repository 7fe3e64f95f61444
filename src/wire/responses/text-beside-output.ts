/** What a response says outside of its items: everything that is no copy of the request. */
import { type JsonObject, objectsAt } from '../../lib/json.ts';
import { generatedTexts, Labels, textsBeside } from '../generated-text.ts';

/** Members that repeat the request, that are looked at elsewhere, or that a moderation says. */
const NAMED = new Set([
  ...['output', 'output_text', 'error', 'conversation', 'input', 'instructions', 'metadata', 'moderation', 'prompt'],
  ...[
    'prompt_cache_key',
    'prompt_cache_options',
    'reasoning',
    'safety_identifier',
    'text',
    'tool_choice',
    'tools',
    'user',
  ],
]);

export function textsBesideOutput(response: JsonObject, labels = new Labels()): readonly string[] {
  const texts = textsBeside(response, NAMED, labels);
  // Some servers send what the SDKs put together themselves.
  const { output_text } = response;
  if (typeof output_text !== 'string' || output_text === '' || output_text === saidOf(response)) return texts;
  return [...texts, output_text];
}

/** The text of its messages. */
function saidOf(response: JsonObject): string {
  const messages = objectsAt(response, 'output').filter(({ type }) => type === 'message');
  return messages.flatMap((message) => generatedTexts(message.content)).join('');
}
