/**
 * `previous_response_id` and item references → the items themselves, so that they work with every model and every provider.
 * Everything after this sees the expanded request: it is validated, counted, priced and sent.
 */
import { GatewayError } from '../core/conditions.ts';
import type { Policy } from '../core/policy.ts';
import type { ItemsOutcome, Renewal, RunStatus, Runs } from '../ledger/port.ts';
import { arrayAt, isObject, type Json, type JsonObject } from '../lib/json.ts';
import { refuse } from '../wire/errors.ts';
import { change } from '../wire/json/edit.ts';
import { type ParsedBody, parseBody } from '../wire/json/parse-request.ts';
import { ENCRYPTED_REASONING } from '../wire/responses/answer-state.ts';
import { inputItems, isStorableId, readInput, readOutput, type StoredOutput } from '../wire/responses/stored-items.ts';
import { storeFailed } from './gateway.ts';
import type { RequestState } from './request-state.ts';
import type { References, ResponseMemory } from './response-memory.ts';

export interface ExpandedRequest {
  /** The same object where the request refers to nothing. */
  readonly request: ParsedBody;
  readonly state: RequestState;
}

/** More items than this are not looked up for one request. */
const LOOKED_UP_MAX = 4_096;

type RunLookup = Pick<Runs, 'findRun'>;
type Limits = Pick<Policy, 'limits' | 'responses'>;

/** Throws `GatewayError('invalid_request')` that names the reference which cannot be expanded. */
export async function expandReferences(
  store: References & RunLookup,
  keyId: string,
  policy: Limits,
  request: ParsedBody,
  memory: ResponseMemory | null = null,
): Promise<ExpandedRequest> {
  const { body } = request;
  const keeps = policy.responses.store && body.store !== false;
  const asksForEncrypted = (arrayAt(body, 'include') ?? []).includes(ENCRYPTED_REASONING);
  const newInput = inputItems(body.input);
  const previousResponseId = body.previous_response_id ?? null;
  const stored = policy.responses.store ? store : null;
  const expansion = new Expansion(memory === null ? stored : memory.before(stored), stored, keyId, policy);
  if (previousResponseId !== null) await expansion.addChain(previousResponseId);
  expansion.addOwn(newInput);
  await expansion.lookUp();
  const state: RequestState = {
    answer: {
      store: keeps,
      previousResponseId: typeof previousResponseId === 'string' ? previousResponseId : null,
      hidesEncrypted: (keeps || memory !== null) && !asksForEncrypted,
    },
    newInput,
    chain: expansion.chain,
    storedReasoning: expansion.storedReasoning,
    memory,
  };
  if (!expansion.changes) return { request, state };
  const bytes = change(
    request.bytes,
    [
      { path: ['input'], json: expansion.input() },
      { path: ['previous_response_id'], json: null },
    ],
    request.layout,
  );
  if (bytes.length > policy.limits.bodyBytes) throw tooLarge(policy);
  return { request: { ...parseBody(bytes, policy.limits.jsonValues), received: request.received }, state };
}

/** An item of the expanded input, and what a refusal of it names. */
interface PlacedItem {
  readonly item: Json;
  readonly param: string;
}

/** One per request. */
class Expansion {
  readonly chain = new Set<string>();
  readonly storedReasoning = new Map<string, string>();
  /** Null where nothing can be referred to. */
  readonly #store: References | null;
  readonly #runs: RunLookup | null;
  readonly #policy: Limits;
  readonly #renewal: Renewal;
  readonly #placed: PlacedItem[] = [];
  /** Stored output items by their ids. */
  readonly #known = new Map<string, { readonly item: JsonObject; readonly provider: string }>();

  constructor(store: References | null, runs: RunLookup | null, keyId: string, policy: Limits) {
    this.#store = store;
    this.#runs = runs;
    this.#policy = policy;
    this.#renewal = { keyId, keepMs: policy.responses.keepMs, bytesMax: policy.limits.bodyBytes };
  }

  /** Whether the input is another one than the client sent. */
  get changes(): boolean {
    return this.chain.size > 0 || this.#placed.some(({ item }) => this.#standsFor(item) !== null);
  }

  async addChain(id: Json): Promise<void> {
    const param = 'previous_response_id';
    if (typeof id !== 'string') refuse(param, `${param} must be a string.`);
    const store = this.#referable(param);
    if (!isStorableId(id)) throw unknownResponse(id);
    const outcome = await store.findChain(id, this.#renewal).catch(storeFailed);
    if (outcome.kind === 'unknown') throw (await this.#unusableRun(outcome.id)) ?? unknownResponse(id, outcome.id);
    if (outcome.kind === 'cycle') refuse(param, `${param}: the responses that ${id} continues continue each other.`);
    if (outcome.kind === 'too_large') throw tooLarge(this.#policy);
    for (const link of outcome.links) {
      this.chain.add(link.id);
      const output = readOutput(link.output);
      this.#learn(output);
      for (const item of [...readInput(link.input), ...output.items]) this.#placed.push({ item, param });
    }
  }

  addOwn(items: readonly Json[]): void {
    for (const [index, item] of items.entries()) {
      const param = `input[${index}].id`;
      if (isObject(item) && item.type === 'item_reference') {
        this.#referable(param);
        if (!isStorableId(item.id)) throw unknownItem(param, item.id);
      }
      this.#placed.push({ item, param });
    }
  }

  /** Reads the items that are referred to and not here yet. */
  async lookUp(): Promise<void> {
    if (this.#store === null) return;
    const wanted = new Set<string>();
    for (const { item } of this.#placed) {
      const id = referredId(item);
      if (id !== null && !this.#known.has(id)) wanted.add(id);
    }
    if (wanted.size === 0) return;
    if (wanted.size > LOOKED_UP_MAX) refuse('input', `input refers to more than ${LOOKED_UP_MAX} stored items.`);
    const outcome: ItemsOutcome = await this.#store.findItems([...wanted], this.#renewal).catch(storeFailed);
    if (outcome.kind === 'too_large') throw tooLarge(this.#policy);
    for (const output of outcome.outputs) this.#learn(readOutput(output));
  }

  /** The expanded input as JSON. Its size is bounded while it is written: an item can be referred to many times. */
  input(): string {
    const written: string[] = [];
    const known = new Map<Json, string>();
    let bytes = 0;
    for (const { item, param } of this.#placed) {
      const meant = this.#standsFor(item) ?? item;
      if (isObject(meant) && meant.type === 'item_reference') throw unknownItem(param, meant.id);
      const text = known.get(meant) ?? JSON.stringify(meant);
      known.set(meant, text);
      bytes += text.length;
      if (bytes > this.#policy.limits.bodyBytes) throw tooLarge(this.#policy);
      written.push(text);
    }
    return `[${written.join(',')}]`;
  }

  #learn({ provider, items }: StoredOutput): void {
    for (const item of items) {
      if (!isStorableId(item.id)) continue;
      this.#known.set(item.id, { item, provider });
      if (item.type === 'reasoning' || item.type === 'compaction') this.storedReasoning.set(item.id, provider);
    }
  }

  /** The stored item that this one stands for; null where it stands for itself. */
  #standsFor(item: Json): JsonObject | null {
    const id = referredId(item);
    return id === null ? null : (this.#known.get(id)?.item ?? (isReference(item) ? item : null));
  }

  /** Why a background response that there is cannot be continued; null where that is not known. */
  async #unusableRun(id: string): Promise<GatewayError | null> {
    const run = await this.#runs?.findRun(this.#renewal.keyId, { id }).catch(storeFailed);
    const why = run && UNUSABLE[run.status];
    return why ? notFound(`the background response ${shown(id)} ${why}`) : null;
  }

  #referable(param: string): References {
    return (
      this.#store ??
      refuse(param, `${param}: this gateway stores no responses (store: false for all of them). Send the whole input.`)
    );
  }
}

/** Null for an item that is all there. Reasoning whose encrypted content was hidden from the client is not. */
function referredId(item: Json): string | null {
  if (!isObject(item) || !isStorableId(item.id)) return null;
  const isHidden = item.type === 'reasoning' && typeof item.encrypted_content !== 'string';
  return isHidden || isReference(item) ? item.id : null;
}

function isReference(item: Json): item is JsonObject {
  return isObject(item) && item.type === 'item_reference';
}

const GONE = 'It is unknown, expired, deleted, too large to be kept, or not one of this key.';

/** Of a run that is complete, the response is stored like every other one. */
const UNUSABLE: Readonly<Partial<Record<RunStatus, string>>> = {
  in_progress: 'is still in progress. Continue it when it is complete.',
  failed: 'has failed and cannot be continued. Send the whole input.',
  cancelled: 'was cancelled and cannot be continued. Send the whole input.',
  lost: 'has failed and cannot be continued. Send the whole input.',
};

function unknownResponse(id: Json, missing = id): GatewayError {
  const which = missing === id ? 'no response' : `${shown(id)} continues a response that is not stored:`;
  return notFound(`${which} ${shown(missing)}${missing === id ? ' is stored' : ''}. ${GONE}`);
}

function notFound(why: string): GatewayError {
  const param = 'previous_response_id';
  return new GatewayError('previous_response_not_found', { message: `${param}: ${why}`, param });
}

function unknownItem(param: string, id: Json | undefined): GatewayError {
  return new GatewayError('invalid_request', { message: `${param}: no item ${shown(id)} is stored. ${GONE}`, param });
}

function tooLarge({ limits }: Limits): GatewayError {
  return new GatewayError('invalid_request', {
    message: `The input is larger than ${limits.bodyBytes} bytes with what it refers to.`,
    param: 'input',
  });
}

function shown(id: Json | undefined): string {
  return JSON.stringify(typeof id === 'string' ? id.slice(0, 200).toWellFormed() : (id ?? null)).slice(0, 300);
}
