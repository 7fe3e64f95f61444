/** The models that every client is tried with: of both families, of the sandbox and of a server that is not ours. */
export interface TriedModel {
  readonly id: string;
  /** The routes whose format its provider speaks. */
  readonly nativeTo: readonly string[];
  readonly provider: 'sandbox' | 'aimock';
}

const OPENAI = ['chat', 'responses', 'models'];
const ANTHROPIC = ['messages', 'count_tokens'];

export const MODELS: readonly TriedModel[] = [
  { id: 'sandbox/alpha', nativeTo: OPENAI, provider: 'sandbox' },
  { id: 'sandbox/beta', nativeTo: ANTHROPIC, provider: 'sandbox' },
  { id: 'foreign/openai', nativeTo: OPENAI, provider: 'aimock' },
  { id: 'foreign/anthropic', nativeTo: ANTHROPIC, provider: 'aimock' },
];

export function laneOf(route: string, { nativeTo }: TriedModel): 'native' | 'translated' {
  return nativeTo.includes(route) ? 'native' : 'translated';
}
