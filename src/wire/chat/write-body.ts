/** Events of the hub → a whole chat completion. */

import { compact, type JsonObject } from '../../lib/json.ts';
import { answerId } from '../translate/answer-writing.ts';
import { collect, type TextBlock } from '../translate/collect-answer.ts';
import type { AnswerContext, TurnEvent } from '../translate/turn.ts';
import { writeChatTokens } from './tokens.ts';
import { chatAnnotationOf, chatFinishReason } from './writer.ts';

export function writeChatBody(events: readonly TurnEvent[], context: AnswerContext): object {
  const answer = collect(events);
  const texts = answer.blocks.filter((block): block is TextBlock => block.type === 'text');
  const { content, annotations, logprobs } = joinTexts(
    texts.filter((block) => block.kind === 'text' && block.text !== ''),
  );
  const refusals = texts.filter((block) => block.kind === 'refusal');
  const reasoning = answer.blocks.flatMap((block) =>
    block.type === 'reasoning' ? [...block.reasoning.texts, ...(block.reasoning.full ?? [])] : [],
  );
  const calls = answer.blocks.flatMap((block): object[] => {
    if (block.type !== 'tool') return [];
    const { name, kind } = block.tool;
    if (kind === 'custom') return [{ id: block.callId, type: 'custom', custom: { name, input: block.input } }];
    return [{ id: block.callId, type: 'function', function: { name, arguments: block.input } }];
  });
  const empty = calls.length > 0 || refusals.length > 0 ? null : '';
  const message = compact({
    role: 'assistant',
    content: content === '' ? empty : content,
    refusal: refusals.length > 0 ? refusals.map((block) => block.text).join('') : null,
    annotations,
    reasoning_content: reasoning.length > 0 ? reasoning.join('\n\n') : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  });
  const finishReason = answer.finish ? chatFinishReason(answer.finish, refusals.length > 0) : 'stop';
  return compact({
    id: answerId(context, answer.start.id, 'chatcmpl-'),
    object: 'chat.completion',
    created: answer.start.createdS ?? context.nowS(),
    model: context.publicModel,
    choices: [
      {
        index: 0,
        message,
        logprobs: logprobs.length > 0 ? { content: logprobs, refusal: null } : null,
        finish_reason: finishReason,
      },
    ],
    usage: answer.tokens ? writeChatTokens(answer.tokens) : undefined,
    service_tier: answer.start.serviceTier,
    system_fingerprint: null,
  });
}

/** Blocks of one item follow each other without a gap; items of their own are paragraphs. */
function joinTexts(blocks: readonly TextBlock[]): { content: string; annotations: JsonObject[]; logprobs: unknown[] } {
  let content = '';
  const annotations: JsonObject[] = [];
  const logprobs: unknown[] = [];
  for (const [index, block] of blocks.entries()) {
    const before = blocks[index - 1];
    if (before && before.itemId !== block.itemId) content += '\n\n';
    const start = content.length;
    content += block.text;
    logprobs.push(...block.logprobs);
    for (const { annotation, end } of block.annotations) {
      const written = chatAnnotationOf(annotation, { start, end: start + end });
      if (written) annotations.push(written);
    }
  }
  return { content, annotations, logprobs };
}
