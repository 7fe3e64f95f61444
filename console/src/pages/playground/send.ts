/** Sends a request of the playground and reads its answer, streamed or whole, in each format. */
import { headersFor, reach, refusalOf } from '../../api/client.ts';
import type { Body, Format } from './draft.ts';

export interface Answer {
  readonly status: number;
  /** The id under which the request log has it. */
  readonly requestId: string | null;
}

type Json = Readonly<Record<string, unknown>>;

/** `say` gets each piece of text as it comes. */
export async function send(
  format: Format,
  body: Body,
  key: string | null,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<Answer> {
  const sent = { format, body, ...(key !== null && { key }) };
  const answer = await reach('/admin/v1/playground', {
    method: 'POST',
    headers: headersFor('post', sent),
    body: JSON.stringify(sent),
    signal,
  });
  if (!answer.ok) throw await refusalOf(answer);
  const status = Number(answer.headers.get('x-playground-status'));
  const requestId = answer.headers.get('x-playground-request-id');
  if ((answer.headers.get('content-type') ?? '').startsWith('text/event-stream')) await readStream(format, answer, say);
  else say(wholeText(format, (await answer.json()) as Json));
  return { status, requestId };
}

async function readStream(format: Format, answer: Response, say: (text: string) => void): Promise<void> {
  if (answer.body === null) return;
  let rest = '';
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    const frames = (rest + piece).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data === undefined || data === '[DONE]') continue;
      const text = pieceText(format, JSON.parse(data) as Json);
      if (text !== '') say(text);
    }
  }
}

function pieceText(format: Format, event: Json): string {
  if (event.error !== undefined) return errorText(event);
  const delta = event.delta;
  if (format === 'chat') {
    const choice = first(event.choices);
    const { content, tool_calls: calls } = object(choice.delta);
    return `${text(content)}${list(calls)
      .map((call) => toolText(object(object(call).function)))
      .join('')}`;
  }
  if (format === 'responses') {
    if (event.type === 'response.output_text.delta') return text(delta);
    return event.type === 'response.function_call_arguments.delta' ? text(delta) : '';
  }
  const { text: said, partial_json: json } = object(delta);
  const { name } = object(event.content_block);
  return `${name === undefined ? '' : `\n${text(name)} `}${text(said)}${text(json)}`;
}

function wholeText(format: Format, body: Json): string {
  if (body.error !== undefined && body.error !== null) return errorText(body);
  if (format === 'chat') {
    const { content, tool_calls: calls } = object(first(body.choices).message);
    return `${text(content)}${list(calls)
      .map((call) => toolText(object(object(call).function)))
      .join('')}`;
  }
  const parts =
    format === 'messages' ? list(body.content) : list(body.output).flatMap((item) => responseParts(object(item)));
  return parts.map((part) => partText(object(part))).join('');
}

function responseParts(item: Json): readonly unknown[] {
  return item.type === 'message' ? list(item.content) : [item];
}

function partText(part: Json): string {
  if (part.name !== undefined)
    return toolText({ name: part.name, arguments: part.arguments ?? JSON.stringify(part.input) });
  return text(part.text);
}

function toolText({ name, arguments: given }: Json): string {
  return `${name === undefined ? '' : `\n${text(name)} `}${text(given)}`;
}

function errorText(body: Json): string {
  return text(object(body.error).message) || 'The request failed.';
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function first(value: unknown): Json {
  return object(list(value)[0]);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
