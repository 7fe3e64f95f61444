/** The end of an answer in the responses format: what is stored of it, and what its last bytes say of that. */
import type { ResponseStorage } from '../core/policy.ts';
import type { KeptResponse } from '../ledger/port.ts';
import { isObject, type JsonObject, objectsAt } from '../lib/json.ts';
import { FinalBytes } from '../wire/responses/answer-state.ts';
import { isStorableId, writeOutput, writeResponse } from '../wire/responses/stored-items.ts';
import { type RequestState, remembers } from './request-state.ts';

export interface FinishedAnswer {
  readonly bytes: Buffer;
  readonly kept: KeptResponse | null;
}

interface AnswerEnd {
  readonly bytes: Buffer;
  readonly streamed: boolean;
  readonly provider: string;
}

/** `storage`: as it was when the request was read. */
export function finishAnswer(
  state: RequestState,
  { bytes, streamed, provider }: AnswerEnd,
  storage: ResponseStorage,
): FinishedAnswer {
  // The events of a stream have said so already.
  if (streamed && !remembers(state)) return { bytes, kept: null };
  const final = new FinalBytes(bytes, streamed);
  const kept = state.answer.store && final.response ? keptResponse(state, final.response, provider, storage) : null;
  // A response without its input is there for item references, but it is not stored as a whole.
  const store = kept !== null && kept.input !== null;
  if (!store && final.response) remember(state, final.response, provider, storage);
  return { bytes: final.written({ ...state.answer, store }), kept };
}

/** For the connection alone, within what that may have. */
function remember(state: RequestState, response: JsonObject, provider: string, storage: ResponseStorage): void {
  const { memory } = state;
  if (memory === null) return;
  const room = { ...storage, recordBytes: memory.bytesMax, keyBytes: memory.bytesMax };
  const record = keptResponse(state, response, provider, room);
  if (record === null || record.input === null) return;
  const { id, parentId, itemIds, input, output } = record;
  memory.keep({ id, parentId, itemIds, input, output });
}

function keptResponse(
  state: RequestState,
  response: JsonObject,
  provider: string,
  storage: ResponseStorage,
): KeptResponse | null {
  const { id } = response;
  const { previousResponseId, hidesEncrypted } = state.answer;
  // A provider that gives an id twice would have a response continue itself.
  if (!isStorableId(id) || state.chain.has(id)) return null;
  const items = objectsAt(response, 'output');
  const record = {
    id,
    parentId: previousResponseId,
    itemIds: [...new Set(items.map((item) => item.id).filter(isStorableId))],
    output: writeOutput({ provider, items }),
    response: writeResponse({ ...response, store: true, previous_response_id: previousResponseId }, !hidesEncrypted),
    keepMs: storage.keepMs,
    keyBytesMax: storage.keyBytes,
  };
  const room = Math.min(storage.recordBytes, storage.keyBytes);
  const bytes = Buffer.byteLength(record.output) + Buffer.byteLength(record.response);
  if (bytes > room) return null;
  const input = JSON.stringify(state.newInput.filter(isObject));
  return { ...record, input: bytes + Buffer.byteLength(input) > room ? null : input };
}
