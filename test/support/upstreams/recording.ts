/** An upstream that answers every chat completion at once with the same usage, and remembers who asked. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface RecordingUpstream extends AsyncDisposable {
  /** Up to and including `/v1`. */
  readonly url: string;
  /** The credentials of the calls so far. */
  readonly credentials: (string | undefined)[];
  /** Of the last call. */
  readonly headers: IncomingHttpHeaders;
}

/** Each answer has two input tokens and one of output. */
export async function recordingUpstream(): Promise<RecordingUpstream> {
  const credentials: (string | undefined)[] = [];
  let headers: IncomingHttpHeaders = {};
  const server = createServer(async (request, response) => {
    // It has no list of its models.
    if (request.method !== 'POST') return void response.writeHead(404).end();
    credentials.push(request.headers.authorization);
    headers = request.headers;
    const { model } = (await json(request)) as { model: string };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: 'chatcmpl-recorded',
        object: 'chat.completion',
        created: 1_767_225_600,
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 },
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    credentials,
    get headers() {
      return headers;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
