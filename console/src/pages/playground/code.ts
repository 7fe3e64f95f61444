/** The exact request as lines to paste. The key is a variable of the shell: the playground's own is shown to nobody. */
import type { Body, Format } from './draft.ts';

const PATHS: Readonly<Record<Format, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
};

export function curlOf(format: Format, body: Body, baseUrl: string): string {
  const quoted = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return `curl ${body.stream === true ? '-N ' : ''}${baseUrl}${PATHS[format]} \\
  -H "Authorization: Bearer $GATEWAY_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${quoted}'`;
}

export function sdkOf(format: Format, body: Body, baseUrl: string, origin: string): string {
  const { stream, ...rest } = body;
  const streamed = stream === true;
  const literal = JSON.stringify(streamed ? { ...rest, stream: true } : rest, null, 2);
  if (format === 'messages') {
    return `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: '${origin}', apiKey: process.env.GATEWAY_KEY });

const answer = await client.messages.create(${literal});
${streamed ? 'for await (const event of answer) console.log(event);' : 'console.log(answer.content);'}`;
  }
  const call = format === 'chat' ? 'chat.completions' : 'responses';
  const shown = format === 'chat' ? 'answer.choices[0].message' : 'answer.output_text';
  return `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: process.env.GATEWAY_KEY });

const answer = await client.${call}.create(${literal});
${streamed ? 'for await (const event of answer) console.log(event);' : `console.log(${shown});`}`;
}
