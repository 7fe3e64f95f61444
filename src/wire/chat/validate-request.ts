/** The facts about a valid chat request that the gateway needs. */

import { arrayAt, isObject, type JsonObject, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { AttachmentTally } from '../attachments.ts';
import { refuse } from '../errors.ts';
import { type HostedTool, type Need, type RequestInfo, reasoningOf } from '../format.ts';
import { validator } from '../schema/validate.ts';
import { ChatRequest } from './schema.ts';

const validate = validator(ChatRequest);

export function validateChat(body: JsonObject): RequestInfo {
  if (body.messages === undefined && body.input !== undefined) {
    refuse(
      'input',
      'This is a request of the responses format: send it to POST /v1/responses, or send "messages" here.',
    );
  }
  const request = validate(body);
  const { max_tokens: limit, max_completion_tokens: alias } = request;
  if (limit !== undefined && alias !== undefined && limit !== alias) {
    refuse(
      'max_completion_tokens',
      'max_completion_tokens is an alias of max_tokens: where both are given they must be equal.',
    );
  }
  const outputLimit = alias ?? limit ?? null;
  const tally = new AttachmentTally();
  const messages = objectsAt(body, 'messages');
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (message === undefined) continue;
    if (message.audio !== undefined) refuseStoredAudio(message, `messages[${index}]`);
    if (Array.isArray(message.content)) tally.parts(message.content, `messages[${index}].content`);
  }
  const needs: Partial<Record<Need, string>> = tally.needs;
  if ((request.tools?.length ?? 0) > 0) needs.tools = 'tools';
  else if ((arrayAt(body, 'functions')?.length ?? 0) > 0) needs.tools = 'functions';
  if (body.reasoning_effort !== undefined && body.reasoning_effort !== 'none') needs.reasoning = 'reasoning_effort';
  if (objectAt(body, 'response_format')?.type?.toString().startsWith('json'))
    needs.structured_output = 'response_format';
  if (request.stream) needs.streaming = 'stream';
  return {
    model: request.model,
    stream: request.stream ?? false,
    outputLimit: outputLimit === null ? null : Math.min(outputLimit, Number.MAX_SAFE_INTEGER),
    outputLimitParam: alias === undefined ? 'max_tokens' : 'max_completion_tokens',
    choices: request.n ?? 1,
    needs,
    attachments: tally.attachments,
    hostedTools: hostedTools(body),
    reasoning: reasoningOf(body.reasoning_effort),
  };
}

/** Sound that an earlier answer had is kept at the provider, in the operator's account. */
function refuseStoredAudio(message: JsonObject, path: string): void {
  const id = objectAt(message, 'audio')?.id;
  if (id === undefined || id === null) return;
  const param = `${path}.audio.id`;
  refuse(param, `${param}: state stored at the provider cannot be used here. Send the transcript as content.`);
}

/** Tools are declared in `tools`, and by some servers in a message too. */
function hostedTools(body: JsonObject): HostedTool[] {
  const hosted = hostedAmong(body, 'tools');
  const messages = arrayAt(body, 'messages') ?? [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (isObject(message) && message.tools !== undefined)
      hosted.push(...hostedAmong(message, `messages[${index}].tools`));
  }
  if (isObject(body.web_search_options)) hosted.push({ type: 'web_search', param: 'web_search_options' });
  return hosted;
}

function hostedAmong(holder: JsonObject, path: string): HostedTool[] {
  return (arrayAt(holder, 'tools') ?? []).flatMap((tool, index) => {
    const type = isObject(tool) ? stringAt(tool, 'type') : undefined;
    if (!isObject(tool) || type === undefined || type === 'function' || type === 'custom') return [];
    return [{ type, param: `${path}[${index}]`, tool }];
  });
}
