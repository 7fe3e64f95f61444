/** The official SDKs' own accumulators, fed with bytes instead of a network. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Format } from '../../src/core/endpoints.ts';
import type { JsonObject } from '../../src/lib/json.ts';

function answering(body: string): typeof fetch {
  return async () => new Response(body, { status: 200, headers: { 'content-type': 'text/event-stream' } });
}

/** The final object that the SDK of this format makes of a stream; throws where the SDK refuses it. */
export async function accumulate(format: Format, stream: string): Promise<JsonObject> {
  const options = { apiKey: 'none', maxRetries: 0, fetch: answering(stream) };
  if (format === 'messages') {
    const client = new Anthropic({ ...options, baseURL: 'http://127.0.0.1:1' });
    const running = client.messages.stream({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] });
    return plain(await running.finalMessage());
  }
  const client = new OpenAI({ ...options, baseURL: 'http://127.0.0.1:1/v1' });
  if (format === 'chat') {
    const running = client.chat.completions.stream({ model: 'm', messages: [{ role: 'user', content: 'x' }] });
    return plain(await running.finalChatCompletion());
  }
  return plain(await client.responses.stream({ model: 'm', input: 'x' }).finalResponse());
}

function plain(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}
