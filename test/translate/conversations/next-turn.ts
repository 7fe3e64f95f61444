/** The next request of a client that has read an answer: everything said so far, the answer as it came, and what follows. */
import type { Format } from '../../../src/core/endpoints.ts';
import { type JsonObject, objectAt, objectsAt, stringAt } from '../../../src/lib/json.ts';

const RESULT = 'done';
const ON = 'Go on.';

export function nextTurn(format: Format, request: JsonObject, answer: JsonObject): JsonObject {
  if (format === 'chat') return afterChat(request, answer);
  return format === 'responses' ? afterResponses(request, answer) : afterMessages(request, answer);
}

function afterChat(request: JsonObject, answer: JsonObject): JsonObject {
  const message = objectAt(objectsAt(answer, 'choices')[0] ?? {}, 'message') ?? {};
  const results = objectsAt(message, 'tool_calls').map((call): JsonObject => {
    return { role: 'tool', tool_call_id: stringAt(call, 'id') ?? '', content: RESULT };
  });
  const more = results.length > 0 ? results : [{ role: 'user', content: ON }];
  return { ...request, messages: [...objectsAt(request, 'messages'), message, ...more] };
}

function afterResponses(request: JsonObject, answer: JsonObject): JsonObject {
  const output = objectsAt(answer, 'output');
  const results = output
    .filter(({ type }) => type === 'function_call')
    .map((call): JsonObject => {
      return { type: 'function_call_output', call_id: stringAt(call, 'call_id') ?? '', output: RESULT };
    });
  const more = results.length > 0 ? results : [{ role: 'user', content: ON }];
  return { ...request, input: [...objectsAt(request, 'input'), ...output, ...more] };
}

function afterMessages(request: JsonObject, answer: JsonObject): JsonObject {
  const content = objectsAt(answer, 'content');
  const results = content
    .filter(({ type }) => type === 'tool_use')
    .map((call): JsonObject => {
      return { type: 'tool_result', tool_use_id: stringAt(call, 'id') ?? '', content: RESULT };
    });
  const said: JsonObject = { role: 'assistant', content };
  const next: JsonObject = { role: 'user', content: results.length > 0 ? results : ON };
  return { ...request, messages: [...objectsAt(request, 'messages'), said, next] };
}
