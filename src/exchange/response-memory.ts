/**
 * The latest responses of a connection that lasts: they can be continued there although nobody keeps them, and are gone with
 * it. What the memories of a process take together is bounded; the one that has the most gives way.
 */
import type { ChainOutcome, ItemsOutcome, Renewal, StoredLink, StoredResponses } from '../ledger/port.ts';

/** The part of the store that references are looked up in. */
export type References = Pick<StoredResponses, 'findChain' | 'findItems'>;

export interface RememberedResponse extends StoredLink {
  readonly itemIds: readonly string[];
}

/** More responses than this are not remembered by one connection. */
const RESPONSES_MAX = 1_024;

/** All memories of a process. */
export class ResponseMemories {
  readonly #bytesMax: () => number;
  readonly #all = new Set<ResponseMemory>();
  #bytes = 0;

  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax;
  }

  /** What they all have. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `bytesMax`: of this one. To be closed with its connection. */
  open(bytesMax: () => number): ResponseMemory {
    const memory = new ResponseMemory(bytesMax, (bytes) => this.#changed(bytes));
    this.#all.add(memory);
    return memory;
  }

  close(memory: ResponseMemory): void {
    this.#all.delete(memory);
    memory.clear();
  }

  #changed(bytes: number): void {
    this.#bytes += bytes;
    while (bytes > 0 && this.#bytes > this.#bytesMax()) this.#largest()?.forgetOldest();
  }

  #largest(): ResponseMemory | null {
    let found: ResponseMemory | null = null;
    for (const memory of this.#all) if (memory.bytes > (found?.bytes ?? 0)) found = memory;
    return found;
  }
}

export class ResponseMemory {
  readonly #bytesMax: () => number;
  readonly #changed: (bytes: number) => void;
  /** Oldest first. */
  readonly #responses = new Map<string, RememberedResponse>();
  #bytes = 0;

  constructor(bytesMax: () => number, changed: (bytes: number) => void) {
    this.#bytesMax = bytesMax;
    this.#changed = changed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The most that one response may have. */
  get bytesMax(): number {
    return this.#bytesMax();
  }

  /** False where it is too large; older ones leave for it. */
  keep(response: RememberedResponse): boolean {
    const bytes = bytesOf(response);
    if (bytes > this.#bytesMax()) return false;
    this.#forget(response.id);
    while (this.#bytes + bytes > this.#bytesMax() || this.#responses.size === RESPONSES_MAX) this.forgetOldest();
    this.#responses.set(response.id, response);
    this.#add(bytes);
    return this.#responses.has(response.id);
  }

  forgetOldest(): void {
    for (const id of this.#responses.keys()) {
      this.#forget(id);
      return;
    }
  }

  clear(): void {
    this.#responses.clear();
    this.#add(-this.#bytes);
  }

  /** References into this memory and, for what is not here, into the store; null: there is none. */
  before(store: References | null): References {
    return {
      findChain: (id, renewal) => this.#findChain(id, renewal, store),
      findItems: (itemIds, renewal) => this.#findItems(itemIds, renewal, store),
    };
  }

  async #findChain(id: string, renewal: Renewal, store: References | null): Promise<ChainOutcome> {
    const links: StoredLink[] = [];
    let bytes = 0;
    let next: string | null = id;
    for (let link = this.#responses.get(id); link !== undefined; link = this.#responses.get(next ?? '')) {
      if (links.length === this.#responses.size) return { kind: 'cycle' };
      links.unshift(link);
      bytes += bytesOf(link);
      if (bytes > renewal.bytesMax) return { kind: 'too_large' };
      next = link.parentId;
    }
    if (next === null) return { kind: 'chain', links };
    if (store === null) return { kind: 'unknown', id: next };
    const found = await store.findChain(next, { ...renewal, bytesMax: renewal.bytesMax - bytes });
    return found.kind === 'chain' ? { kind: 'chain', links: [...found.links, ...links] } : found;
  }

  async #findItems(itemIds: readonly string[], renewal: Renewal, store: References | null): Promise<ItemsOutcome> {
    const wanted = new Set(itemIds);
    const outputs: string[] = [];
    let bytes = 0;
    for (const { itemIds: own, output } of this.#responses.values()) {
      const found = own.filter((id) => wanted.delete(id));
      if (found.length === 0) continue;
      outputs.push(output);
      bytes += output.length;
      if (bytes > renewal.bytesMax) return { kind: 'too_large' };
    }
    if (wanted.size === 0 || store === null) return { kind: 'items', outputs };
    const stored = await store.findItems([...wanted], { ...renewal, bytesMax: renewal.bytesMax - bytes });
    return stored.kind === 'items' ? { kind: 'items', outputs: [...outputs, ...stored.outputs] } : stored;
  }

  #forget(id: string): void {
    const response = this.#responses.get(id);
    if (response === undefined) return;
    this.#responses.delete(id);
    this.#add(-bytesOf(response));
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    this.#changed(bytes);
  }
}

/** As UTF-16 at most twice of it is in memory. */
function bytesOf({ input, output }: StoredLink): number {
  return input.length + output.length;
}
