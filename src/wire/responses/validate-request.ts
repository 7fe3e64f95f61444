/** The facts about a valid responses request that the gateway needs. */

import { arrayAt, isObject, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts';
import { AttachmentTally } from '../attachments.ts';
import { refuse } from '../errors.ts';
import { type FormatContext, type HostedTool, type Need, type RequestInfo, reasoningOf } from '../format.ts';
import { validator } from '../schema/validate.ts';
import { ResponsesRequest } from './schema.ts';
import { isHosted } from './tools.ts';

const validate = validator(ResponsesRequest);

export function validateResponses(body: JsonObject, _bytes?: Buffer, context?: FormatContext): RequestInfo {
  // First: a request that names a stored prompt usually has no input.
  refuseStoredState(body);
  const request = validate(body);
  if (!context?.references) refuseReferences(body);
  const tally = new AttachmentTally();
  const input = arrayAt(body, 'input') ?? [];
  for (let index = 0; index < input.length; index++) tallyItem(input[index], `input[${index}]`, tally);
  const needs: Partial<Record<Need, string>> = tally.needs;
  const declaring = input.findIndex((item) => isObject(item) && (arrayAt(item, 'tools')?.length ?? 0) > 0);
  if ((request.tools?.length ?? 0) > 0) needs.tools = 'tools';
  else if (declaring !== -1) needs.tools = `input[${declaring}].tools`;
  const effort = objectAt(body, 'reasoning')?.effort;
  if (effort !== undefined && effort !== null && effort !== 'none') needs.reasoning = 'reasoning.effort';
  const outputFormat = objectAt(objectAt(body, 'text') ?? {}, 'format')?.type;
  if (outputFormat === 'json_schema' || outputFormat === 'json_object') needs.structured_output = 'text.format';
  if (request.stream) needs.streaming = 'stream';
  const limit = request.max_output_tokens;
  return {
    model: request.model,
    stream: request.stream ?? false,
    outputLimit: limit === undefined ? null : Math.min(limit, Number.MAX_SAFE_INTEGER),
    outputLimitParam: 'max_output_tokens',
    choices: 1,
    needs,
    attachments: tally.attachments,
    hostedTools: hostedTools(body),
    reasoning: input.some(asksForReasoning) ? 'on' : reasoningOf(effort),
  };
}

/** Whether an item of the conversation changes the effort; a later one may take it back, which is not looked at. */
function asksForReasoning(item: Json): boolean {
  if (!isObject(item) || item.type !== 'configuration_update') return false;
  return reasoningOf(objectAt(item, 'reasoning')?.effort) === 'on';
}

function refuseStoredState(body: JsonObject): void {
  if (body.background === true) refuse('background', 'background: this cannot be made in the background.');
  if (body.conversation !== undefined && body.conversation !== null) {
    refuse(
      'conversation',
      'conversation: there are no conversations here. Continue a response with previous_response_id.',
    );
  }
  if (isObject(body.prompt)) {
    refuse(
      'prompt',
      'prompt: there are no stored prompts here. Send the text of the prompt in instructions and input.',
    );
  }
}

/**
 * State stored at the provider belongs to the operator's account: no caller may reach another's state through it. What
 * the gateway has stored is in its place by now.
 */
function refuseReferences(body: JsonObject): void {
  if (body.previous_response_id !== undefined && body.previous_response_id !== null) {
    refuse('previous_response_id', 'previous_response_id: state stored at the provider cannot be used here.');
  }
  for (const [index, item] of (arrayAt(body, 'input') ?? []).entries()) {
    if (!isObject(item) || item.type !== 'item_reference') continue;
    refuse(`input[${index}]`, `input[${index}]: items stored at the provider cannot be used here.`);
  }
}

function tallyItem(item: Json | undefined, path: string, tally: AttachmentTally): void {
  if (!isObject(item)) return;
  // Some servers take a part without a message around it.
  if (stringAt(item, 'type')?.startsWith('input_')) tally.part(item, path);
  for (const name of ['content', 'output']) {
    const value = item[name];
    if (Array.isArray(value)) tally.parts(value, `${path}.${name}`);
    else if (isObject(value)) tally.part(value, `${path}.${name}`);
  }
}

/** Tools can be declared in `tools`, inside a namespace, and by items of the input. */
function hostedTools(body: JsonObject): HostedTool[] {
  const found = hostedAmong(body, 'tools');
  const input = arrayAt(body, 'input') ?? [];
  for (let index = 0; index < input.length; index++) {
    const item = input[index];
    if (isObject(item) && item.tools !== undefined) found.push(...hostedAmong(item, `input[${index}].tools`));
  }
  return found;
}

function hostedAmong(holder: JsonObject, path: string): HostedTool[] {
  return (arrayAt(holder, 'tools') ?? []).flatMap((tool, index) => {
    if (!isObject(tool)) return [];
    const param = `${path}[${index}]`;
    refuseStoredFiles(tool, param);
    return [
      ...(isHosted(tool) ? [{ type: stringAt(tool, 'type') ?? '', param, tool }] : []),
      ...(tool.tools === undefined ? [] : hostedAmong(tool, `${param}.tools`)),
    ];
  });
}

/** Containers and files that a tool would work on belong to the operator's account. */
function refuseStoredFiles(tool: JsonObject, param: string): void {
  for (const name of ['container', 'environment', 'input_image_mask']) {
    const holder = tool[name];
    const stored =
      typeof holder === 'string' ||
      (isObject(holder) &&
        (typeof holder.container_id === 'string' ||
          typeof holder.file_id === 'string' ||
          (arrayAt(holder, 'file_ids')?.length ?? 0) > 0));
    if (!stored) continue;
    refuse(`${param}.${name}`, `${param}.${name}: what is stored at the provider cannot be used through the gateway.`);
  }
}
