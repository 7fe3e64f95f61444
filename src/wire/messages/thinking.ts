/** How a messages target is asked to think. */
import { BUDGET_MIN, budgetOf } from '../translate/settings.ts';
import type { TargetTraits, Turn } from '../translate/turn.ts';

interface WrittenThinking {
  readonly thinking: object | undefined;
  readonly effort: string | undefined;
  /** Thinking was asked for by an effort: the sampling settings, which exclude it here, give way. */
  readonly derived: boolean;
}

const NOTHING: WrittenThinking = { thinking: undefined, effort: undefined, derived: false };
/** The efforts that `output_config` knows. */
const EFFORTS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

export function writeThinking(turn: Turn, traits: TargetTraits, warnings: string[]): WrittenThinking {
  const asked = turn.settings.reasoning;
  if (!asked || !traits.reasoning) return NOTHING;
  if (turn.origin === 'messages') return { thinking: native(asked), effort: asked.effort, derived: false };
  const { effort } = asked;
  if (effort === undefined) return NOTHING;
  const at = turn.origin === 'chat' ? 'reasoning_effort' : 'reasoning.effort';
  if (effort === 'none') {
    if (traits.thinking !== 'always') return { ...NOTHING, thinking: { type: 'disabled' } };
    warnings.push(`${at}: "none" is sent as "low", this model always thinks`);
    return { ...NOTHING, effort: 'low' };
  }
  const obstacle = thinkingObstacle(turn);
  if (obstacle !== null) {
    warnings.push(`${at}: left out, ${obstacle}`);
    return NOTHING;
  }
  if (traits.thinking !== 'budget') {
    // Newer models think without showing it unless they are asked to.
    const display = asked.summary === undefined ? {} : { display: 'summarized' };
    return { thinking: { type: 'adaptive', ...display }, effort: EFFORTS[effort] ?? 'medium', derived: true };
  }
  const budget = budgetOf(effort, traits.outputLimit);
  if (budget === undefined) {
    warnings.push(`${at}: left out, the output limit leaves no room for ${BUDGET_MIN} tokens of thinking`);
    return NOTHING;
  }
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: undefined, derived: true };
}

function native(asked: NonNullable<Turn['settings']['reasoning']>): object | undefined {
  if (asked.thinking === undefined) return undefined;
  return {
    type: asked.thinking,
    ...(asked.budgetTokens === undefined ? {} : { budget_tokens: asked.budgetTokens }),
    ...(asked.display === undefined ? {} : { display: asked.display }),
  };
}

/** Settings that the format refuses together with thinking. */
function thinkingObstacle(turn: Turn): string | null {
  const choice = turn.toolChoice;
  if (choice && (choice.kind === 'required' || choice.kind === 'tool')) return 'a forced tool excludes thinking';
  if (choice?.kind === 'allowed' && choice.mode === 'required') return 'a forced tool excludes thinking';
  // A tool loop goes on from its first step, which must begin with the reasoning that led to it.
  const asked = turn.messages.findLastIndex(
    (message) => message.role === 'user' && !message.parts.some((part) => part.type === 'tool-result'),
  );
  const step = turn.messages.slice(asked + 1).find((message) => message.role === 'assistant');
  if (!step?.parts.some((part) => part.type === 'tool-call')) return null;
  const signed = step.parts.some(
    (part) =>
      part.type === 'reasoning' &&
      part.reasoning.origin === 'messages' &&
      (part.reasoning.signature !== undefined || part.reasoning.redacted !== undefined),
  );
  return signed ? null : 'the tool calls to go on from were made without signed thinking';
}
