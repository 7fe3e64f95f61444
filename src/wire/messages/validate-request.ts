/** The facts about a valid messages request, or a token count request, that the gateway needs. */
import { GatewayError } from '../../core/conditions.ts';
import { arrayAt, isObject, type Json, type JsonObject, objectAt } from '../../lib/json.ts';
import { AttachmentTally } from '../attachments.ts';
import type { FormatContext, HostedTool, Need, RequestInfo } from '../format.ts';
import { validator } from '../schema/validate.ts';
import { declaredBy, hostedTools, refuseDeclared } from './hosted-tools.ts';
import { CountRequest, ExtendedCountRequest, ExtendedMessageRequest, MessageRequest } from './schema.ts';

const validateMessage = validator(MessageRequest);
const validateExtendedMessage = validator(ExtendedMessageRequest);
const validateCount = validator(CountRequest);
const validateExtendedCount = validator(ExtendedCountRequest);

export function validateMessages(body: JsonObject, context: FormatContext): RequestInfo {
  const request = withRoleMessage(body, () =>
    context.betas ? validateExtendedMessage(body) : validateMessage(body),
  ) as MessageRequest;
  const limit = request.max_tokens;
  return {
    ...inputInfo(body, request.model),
    stream: request.stream ?? false,
    outputLimit: limit === undefined ? null : Math.min(limit, Number.MAX_SAFE_INTEGER),
  };
}

/** The info of a token count request, which asks for no output. */
export function validateCountRequest(body: JsonObject, context: FormatContext): RequestInfo {
  const request = withRoleMessage(body, () =>
    context.betas ? validateExtendedCount(body) : validateCount(body),
  ) as CountRequest;
  const info = inputInfo(body, request.model);
  // Settings of the answer do not concern the count of its prompt.
  const { reasoning: _, structured_output: __, streaming: ___, ...needs } = info.needs;
  return { ...info, needs, stream: false, outputLimit: null };
}

function inputInfo(body: JsonObject, model: string): Omit<RequestInfo, 'stream' | 'outputLimit'> {
  const tally = new AttachmentTally();
  const hosted = hostedTools(body);
  tallyBlocks(arrayAt(body, 'system') ?? [], 'system', tally, hosted);
  const messages = arrayAt(body, 'messages') ?? [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    const content = isObject(message) ? message.content : undefined;
    if (Array.isArray(content)) tallyBlocks(content, `messages[${index}].content`, tally, hosted);
  }
  const needs: Partial<Record<Need, string>> = tally.needs;
  if ((arrayAt(body, 'tools')?.length ?? 0) > 0) needs.tools = 'tools';
  else if (hosted[0]) needs.tools = hosted[0].param;
  // `adaptive` leaves it to the model, which may be one that does not think.
  if (objectAt(body, 'thinking')?.type === 'enabled') needs.reasoning = 'thinking';
  if (isObject(body.output_format)) needs.structured_output = 'output_format';
  else if (objectAt(body, 'output_config')?.format !== undefined) needs.structured_output = 'output_config.format';
  if (body.stream === true) needs.streaming = 'stream';
  return {
    model,
    outputLimitParam: 'max_tokens',
    choices: 1,
    needs,
    attachments: tally.attachments,
    hostedTools: hosted,
    reasoning: reasoningOf(body),
  };
}

function reasoningOf(body: JsonObject): RequestInfo['reasoning'] {
  const thinking = objectAt(body, 'thinking');
  if (thinking === undefined) return 'unsaid';
  return thinking.type === 'disabled' ? 'off' : 'on';
}

/** `hosted` takes the tools that the blocks declare; null inside a block, where they can declare none. */
function tallyBlocks(
  blocks: readonly Json[],
  path: string,
  tally: AttachmentTally,
  hosted: HostedTool[] | null = null,
): void {
  for (let index = 0; index < blocks.length; index++) {
    const block = blocks[index];
    if (!isObject(block)) continue;
    const at = `${path}[${index}]`;
    tally.part(block, at);
    if (block.type === 'text') continue;
    if (block.tool !== undefined || block.tool_changes !== undefined) {
      if (hosted === null) refuseDeclared(block, at);
      else hosted.push(...declaredBy(block, at));
    }
    if (Array.isArray(block.content)) tallyBlocks(block.content, `${at}.content`, tally);
    const source = objectAt(block, 'source');
    if (Array.isArray(source?.content)) tallyBlocks(source.content, `${at}.source.content`, tally);
  }
}

/** Native clients act on this wording of a refused role. */
function withRoleMessage<Result>(body: JsonObject, validate: () => Result): Result {
  try {
    return validate();
  } catch (error) {
    const index = error instanceof GatewayError ? /^messages\[(\d+)\]\.role$/.exec(error.param ?? '')?.[1] : undefined;
    const message = index === undefined ? undefined : arrayAt(body, 'messages')?.[Number(index)];
    if (!isObject(message) || message.role === undefined) throw error;
    const role = JSON.stringify(message.role).slice(0, 100);
    throw new GatewayError('invalid_request', {
      param: `messages[${index}].role`,
      message:
        `messages: Unexpected role ${role}. The Messages API accepts a top-level \`system\` parameter, ` +
        `not ${role} as an input message role; the roles are "user" and "assistant".`,
    });
  }
}
