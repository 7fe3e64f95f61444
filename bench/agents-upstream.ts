/** A provider for the experiment with agents: answers of some hundred words at the pace of a large model, with usage. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { sleep } from './processes.ts';

export interface AgentsUpstream {
  readonly origin: string;
  close(): Promise<void>;
}

/** About 100 tokens a second. */
const WORDS_PER_CHUNK = 8;
const CHUNK_MS = 80;
const BYTES_PER_TOKEN = 4;

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly object[];
}

/** `answerWords`: how long the answer to a prompt of so many messages is. */
export async function startAgentsUpstream(answerWords: (messages: number) => number): Promise<AgentsUpstream> {
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as ChatRequest;
    const words = answerWords(body.messages.length);
    const common = { id: 'chatcmpl-agents', object: 'chat.completion.chunk', created: 1, model: body.model };
    const write = (fields: object): boolean => response.write(`data: ${JSON.stringify({ ...common, ...fields })}\n\n`);
    const delta = (part: object, finish: string | null): boolean =>
      write({ choices: [{ index: 0, delta: part, finish_reason: finish }] });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    delta({ role: 'assistant', content: '' }, null);
    let bytes = 0;
    for (let sent = 0; sent < words && !response.destroyed; sent += WORDS_PER_CHUNK) {
      const content = `${vocabulary(sent, Math.min(WORDS_PER_CHUNK, words - sent))} `;
      bytes += content.length;
      delta({ content }, null);
      await sleep(CHUNK_MS);
    }
    if (response.destroyed) return;
    delta({}, 'stop');
    const prompt = Math.ceil(JSON.stringify(body.messages).length / BYTES_PER_TOKEN);
    const completion = Math.ceil(bytes / BYTES_PER_TOKEN);
    write({
      choices: [],
      usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    });
    response.end('data: [DONE]\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const WORDS = 'the function reads each line of a file and returns what it found there with its number'.split(' ');

/** Ordinary words, so many of them from this place on. */
export function vocabulary(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => WORDS[(from + index * 7) % WORDS.length]).join(' ');
}
