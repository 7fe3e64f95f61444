/** One conversation with a tool, held by the official client of each format. */
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { ResponseInput } from 'openai/resources/responses/responses';
import type { Format } from '../../../src/core/endpoints.ts';
import type { PackageGateway } from './package-gateway.ts';

export interface Said {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly finish: string | null;
  readonly tokens: { readonly input: number; readonly output: number };
}

/** A dialogue keeps what was said, as the client of its format does. */
export interface Dialogue {
  ask(text: string): Promise<Said>;
  /** Answers every call of the last answer. */
  giveResult(text: string): Promise<Said>;
}

export interface DialogueOptions {
  readonly model: string;
  readonly stream: boolean;
  readonly key: string;
}

const DESCRIPTION = 'The weather in a city.';
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;

export const DIALOGUES: Readonly<Record<Format, (setup: PackageGateway, options: DialogueOptions) => Dialogue>> = {
  chat: chatDialogue,
  responses: responsesDialogue,
  messages: messagesDialogue,
};

function chatDialogue(setup: PackageGateway, { model, stream, key }: DialogueOptions): Dialogue {
  const client = setup.openai(key);
  const messages: ChatCompletionMessageParam[] = [];
  const calls: { id: string }[] = [];
  const request = {
    model,
    messages,
    tools: [
      {
        type: 'function' as const,
        function: { name: 'get_weather', description: DESCRIPTION, parameters: { ...SCHEMA } },
      },
    ],
  };
  const go = async (): Promise<Said> => {
    const answer = stream
      ? await client.chat.completions
          .stream({ ...request, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await client.chat.completions.create(request);
    const [choice] = answer.choices;
    if (!choice) throw new Error('no choice');
    messages.push(choice.message);
    const made = (choice.message.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call] : []));
    calls.splice(0, calls.length, ...made);
    return {
      text: choice.message.content ?? '',
      calls: made.map((call) => ({ name: call.function.name, input: JSON.parse(call.function.arguments) })),
      finish: choice.finish_reason,
      tokens: { input: answer.usage?.prompt_tokens ?? -1, output: answer.usage?.completion_tokens ?? -1 },
    };
  };
  return {
    ask: (text) => {
      messages.push({ role: 'user', content: text });
      return go();
    },
    giveResult: (content) => {
      for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content });
      return go();
    },
  };
}

function responsesDialogue(setup: PackageGateway, { model, stream, key }: DialogueOptions): Dialogue {
  const client = setup.openai(key);
  const input: ResponseInput = [];
  const calls: { call_id: string }[] = [];
  const tool = {
    type: 'function' as const,
    name: 'get_weather',
    description: DESCRIPTION,
    parameters: { ...SCHEMA },
    strict: false,
  };
  const go = async (): Promise<Said> => {
    const request = { model, input, tools: [tool], include: ['reasoning.encrypted_content' as const] };
    const answer = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    input.push(...(answer.output as ResponseInput));
    const made = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
    calls.splice(0, calls.length, ...made);
    return {
      text: answer.output_text,
      calls: made.map((call) => ({ name: call.name, input: JSON.parse(call.arguments) })),
      finish: answer.status ?? null,
      tokens: { input: answer.usage?.input_tokens ?? -1, output: answer.usage?.output_tokens ?? -1 },
    };
  };
  return {
    ask: (text) => {
      input.push({ role: 'user', content: text });
      return go();
    },
    giveResult: (output) => {
      for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output });
      return go();
    },
  };
}

function messagesDialogue(setup: PackageGateway, { model, stream, key }: DialogueOptions): Dialogue {
  const client = setup.anthropic(key);
  const messages: MessageParam[] = [];
  const calls: { id: string }[] = [];
  const tool = { name: 'get_weather', description: DESCRIPTION, input_schema: { ...SCHEMA, required: ['city'] } };
  const go = async (): Promise<Said> => {
    const request = { model, messages, max_tokens: 500, tools: [tool] };
    const answer = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    messages.push({ role: 'assistant', content: answer.content });
    const made = answer.content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
    calls.splice(0, calls.length, ...made);
    return {
      text: answer.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
      calls: made.map((call) => ({ name: call.name, input: call.input })),
      finish: answer.stop_reason,
      tokens: { input: answer.usage.input_tokens, output: answer.usage.output_tokens },
    };
  };
  return {
    ask: (content) => {
      messages.push({ role: 'user', content });
      return go();
    },
    giveResult: (content) => {
      const results = calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content }));
      messages.push({ role: 'user', content: results });
      return go();
    },
  };
}
