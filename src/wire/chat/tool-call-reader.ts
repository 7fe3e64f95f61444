/**
 * Tool-call deltas of the chat format → events. The format says neither when a call ends nor, in many servers, which
 * call a delta belongs to; this finds out, and keeps calls apart whose deltas come interleaved.
 */
import { getOrInsert } from '../../lib/get-or-insert.ts';
import { type JsonObject, numberAt, objectAt, objectsAt, stringAt } from '../../lib/json.ts';
import { broken } from '../errors.ts';
import { checkNextPart } from '../translate/answer-parts.ts';
import { JsonEndDetector } from '../translate/json-end.ts';
import type { ToolKind, TurnEvent } from '../translate/turn.ts';

interface Call {
  readonly index: number | undefined;
  id: string | undefined;
  kind: ToolKind;
  name: string;
  /** Arguments that came before the name. */
  waiting: string;
  key: number | null;
  open: boolean;
  readonly json: JsonEndDetector;
}

/** Of a call that has no place among the others. */
const LEGACY_INDEX = -1;

/** The calls of a delta or message; older servers have one in a member of its own. */
export function callsOf(delta: JsonObject): readonly JsonObject[] {
  const calls = objectsAt(delta, 'tool_calls');
  const legacy = objectAt(delta, 'function_call');
  return legacy === undefined || calls.length > 0 ? calls : [{ index: LEGACY_INDEX, function: legacy }];
}

export class ToolCallReader {
  readonly #calls: Call[] = [];
  /** Calls by what a delta can name them with. An answer can have a hundred thousand, which are not searched each time. */
  readonly #byIndex = new Map<number, Call>();
  readonly #byName = new Map<string, Call>();
  /** The calls that have got arguments since complete ones were last ended. */
  readonly #fed = new Set<Call>();
  readonly #nextKey: () => number;
  #last: Call | undefined;

  constructor(nextKey: () => number) {
    this.#nextKey = nextKey;
  }

  get any(): boolean {
    return this.#calls.length > 0;
  }

  read(delta: JsonObject, events: TurnEvent[]): void {
    const call = this.#callOf(delta, events);
    const custom = objectAt(delta, 'custom');
    const details = custom ?? objectAt(delta, 'function') ?? {};
    if (custom) call.kind = 'custom';
    const name = stringAt(details, 'name');
    if (call.key === null && name) call.name = name;
    const input = details[custom ? 'input' : 'arguments'];
    const text = typeof input === 'string' ? input : input === undefined || input === null ? '' : JSON.stringify(input);
    if (call.key === null && call.name === '') {
      call.waiting += text;
      return;
    }
    if (call.key === null) {
      call.key = this.#nextKey();
      const callId = call.id ?? `call_${call.key}`;
      events.push({ type: 'tool-start', key: call.key, callId, tool: { kind: call.kind, name: call.name } });
    }
    const all = call.waiting + text;
    call.waiting = '';
    if (all === '') return;
    if (!call.open) {
      if (all.trim() === '') return;
      broken('arguments came for a tool call that was complete.');
    }
    call.json.feed(all);
    this.#fed.add(call);
    events.push({ type: 'tool-delta', key: call.key, text: all });
  }

  /** Another block begins: calls whose arguments are complete have ended. */
  settle(events: TurnEvent[]): void {
    const complete = [...this.#fed].filter(({ kind, json }) => kind !== 'custom' && json.complete);
    this.#fed.clear();
    for (const call of complete.sort((a, b) => (a.key ?? 0) - (b.key ?? 0))) this.#end(call, events);
  }

  close(events: TurnEvent[]): void {
    for (const call of this.#calls) {
      if (call.key === null) broken('a tool call has no name.');
      this.#end(call, events);
    }
  }

  #end(call: Call, events: TurnEvent[]): void {
    if (!call.open || call.key === null) return;
    call.open = false;
    events.push({ type: 'tool-end', key: call.key });
  }

  #callOf(delta: JsonObject, events: TurnEvent[]): Call {
    const index = numberAt(delta, 'index');
    const id = stringAt(delta, 'id') || undefined;
    const known = this.#find(index, id);
    if (known) {
      if (known.id === undefined && id !== undefined) this.#name(known, id);
      this.#last = known;
      return known;
    }
    checkNextPart(this.#calls.length);
    this.settle(events);
    const call: Call = {
      index,
      id: undefined,
      kind: 'function',
      name: '',
      waiting: '',
      key: null,
      open: true,
      json: new JsonEndDetector(),
    };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    if (id !== undefined) this.#name(call, id);
    this.#last = call;
    return call;
  }

  #name(call: Call, id: string): void {
    call.id = id;
    for (const name of [nameOf(undefined, id), nameOf(call.index, id)]) getOrInsert(this.#byName, name, () => call);
  }

  /** The call of a delta: by id where it has one that is known, by index while the ids agree, otherwise the last one. */
  #find(index: number | undefined, id: string | undefined): Call | undefined {
    if (id !== undefined) {
      const named = this.#byName.get(nameOf(index, id));
      if (named) return named;
    }
    if (index === undefined) return id === undefined ? this.#last : undefined;
    // Where a call has no id yet, it is the last one of its index.
    const last = this.#byIndex.get(index);
    return id === undefined || last?.id === undefined ? last : undefined;
  }
}

function nameOf(index: number | undefined, id: string): string {
  return `${index ?? ''} ${id}`;
}
