/** What the gateway must know of a valid responses request. */

import { arrayAt, isObject, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts';
import { AttachmentTally } from '../attachments.ts';
import { refuse } from '../errors.ts';
import { type HostedTool, type Need, type RequestInfo, reasoningOf } from '../format.ts';
import { validator } from '../schema/validate.ts';
import { ResponsesRequest } from './schema.ts';
import { isHosted } from './tools.ts';

const validate = validator(ResponsesRequest);

export function validateResponses(body: JsonObject): RequestInfo {
  const request = validate(body);
  refuseStoredState(body);
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
    reasoning: reasoningOf(effort),
  };
}

/** What is stored at the provider belongs to the operator's account: no caller may reach another's state through it. */
function refuseStoredState(body: JsonObject): void {
  if (body.background === true) refuse('background', 'background: responses cannot run in the background here.');
  for (const name of ['previous_response_id', 'conversation']) {
    if (body[name] !== undefined && body[name] !== null) {
      refuse(name, `${name}: state stored at the provider cannot be used through the gateway. Send the whole input.`);
    }
  }
}

function tallyItem(item: Json | undefined, path: string, tally: AttachmentTally): void {
  if (!isObject(item)) return;
  if (item.type === 'item_reference') {
    refuse(path, `${path}: items stored at the provider cannot be used through the gateway. Send the item itself.`);
  }
  for (const name of ['content', 'output']) {
    const value = item[name];
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) tallyPart(value[index], `${path}.${name}[${index}]`, tally);
    } else if (isObject(value)) {
      tallyPart(value, `${path}.${name}`, tally);
    }
  }
}

function tallyPart(part: Json | undefined, path: string, tally: AttachmentTally): void {
  if (!isObject(part)) return;
  switch (part.type) {
    case 'input_image':
    case 'computer_screenshot':
      tally.providerFile(part, `${path}.file_id`);
      tally.image(path, part.image_url);
      break;
    case 'input_file':
      tally.providerFile(part, `${path}.file_id`);
      tally.file(path, part.file_data);
      break;
    case 'input_audio':
      tally.file(path, isObject(part.input_audio) ? part.input_audio.data : part.data);
      break;
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
    return [
      ...(isHosted(tool) ? [{ type: stringAt(tool, 'type') ?? '', param }] : []),
      ...(tool.type === 'namespace' ? hostedAmong(tool, `${param}.tools`) : []),
    ];
  });
}
