/** The chunk at the end of a chat stream that shows its usage. */
import type { TokenCounts } from '../../core/usage.ts';
import { compact, type JsonObject } from '../../lib/json.ts';
import { dataFrame } from '../translate/answer-writing.ts';
import { writeChatTokens } from './tokens.ts';

/** The members of the first chunk that every chunk repeats. */
export function chatCommon({ id, created, service_tier, system_fingerprint }: JsonObject): JsonObject {
  return compact({ id, created, service_tier, system_fingerprint });
}

export function chatUsageFrame(common: JsonObject, publicModel: string, tokens: TokenCounts): string {
  const object = 'chat.completion.chunk';
  return dataFrame({ ...common, object, model: publicModel, choices: [], usage: writeChatTokens(tokens) });
}
