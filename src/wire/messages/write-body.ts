/** Events of the hub → a whole message. */
import { messagesCitation } from '../translate/annotations.ts';
import { answerId, placeholderUsage } from '../translate/answer-writing.ts';
import { type Answer, type AnswerBlock, collect } from '../translate/collect-answer.ts';
import { endsMidway } from '../translate/cut-calls.ts';
import { argumentsObject } from '../translate/tools.ts';
import type { AnswerContext, ReasoningBlock, TurnEvent } from '../translate/turn.ts';
import { signatureOf } from './signature.ts';
import { writeMessagesTokens } from './tokens.ts';
import { messagesEnding } from './writer.ts';

export function writeMessagesBody(events: readonly TurnEvent[], context: AnswerContext): object {
  const answer = collect(events);
  const characters = answer.blocks.reduce((sum, block) => sum + lengthOf(block), 0);
  const isCut = answer.blocks.some((block) => block.type === 'tool' && block.incomplete);
  return {
    id: answerId(context, answer.start.id, 'msg_'),
    type: 'message',
    role: 'assistant',
    model: context.publicModel,
    content: answer.blocks.flatMap(writeBlock),
    container: null,
    ...messagesEnding(isCut ? cutOff(answer.finish) : answer.finish),
    usage: writeMessagesTokens(answer.tokens ?? placeholderUsage(context, characters)),
  };
}

/** An answer that lacks a call has not ended with one. */
function cutOff(finish: Answer['finish']): Answer['finish'] {
  if (finish !== null && endsMidway(finish.reason)) return finish;
  return { type: 'finish', reason: 'length', raw: { format: 'chat', value: 'length' } };
}

function lengthOf(block: AnswerBlock): number {
  if (block.type === 'text') return block.text.length;
  if (block.type === 'tool') return block.input.length;
  return block.type === 'reasoning' ? shown(block.reasoning).length : 0;
}

function writeBlock(block: AnswerBlock): object[] {
  switch (block.type) {
    case 'text': {
      if (block.text === '') return [];
      const citations = block.annotations.map(({ annotation, end }) =>
        messagesCitation(annotation, { start: 0, end, text: block.text.slice(0, end) }),
      );
      return [{ type: 'text', text: block.text, citations: citations.length > 0 ? citations : null }];
    }
    case 'tool':
      // Arguments are an object here, and those of a call that broke off are none.
      if (block.incomplete) return [];
      return [
        { type: 'tool_use', id: block.callId, name: block.tool.name, input: argumentsObject(block.input || '{}') },
      ];
    case 'reasoning':
      return writeReasoningBlock(block.reasoning);
    case 'opaque':
      return block.format === 'messages' ? [block.raw] : [];
  }
}

function shown(reasoning: ReasoningBlock): string {
  return [...reasoning.texts, ...(reasoning.full ?? [])].join('\n\n');
}

function writeReasoningBlock(reasoning: ReasoningBlock): object[] {
  const thinking = shown(reasoning);
  if (thinking !== '') return [{ type: 'thinking', thinking, signature: signatureOf(reasoning) }];
  if (reasoning.redacted !== undefined) return [{ type: 'redacted_thinking', data: reasoning.redacted }];
  if (reasoning.encrypted !== undefined) return [{ type: 'redacted_thinking', data: signatureOf(reasoning) }];
  return reasoning.signature === undefined ? [] : [{ type: 'thinking', thinking, signature: reasoning.signature }];
}
