/** Response stream events → events of the hub. One per attempt. Complete and incomplete servers are read alike. */
import {
  isObject,
  type Json,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseJson,
  stringAt,
} from '../../lib/json.ts';
import { broken } from '../errors.ts';
import { checkNextPart } from '../translate/answer-parts.ts';
import type { EventReader, TurnEvent } from '../translate/turn.ts';
import { unread } from '../translate/unread.ts';
import { isErrorShape } from '../upstream-failure.ts';
import { isNotGenerated, isRepeating } from './event-fields.ts';
import { ItemReader } from './item-reader.ts';
import { readResponsesTerms, readResponsesTokens } from './tokens.ts';

/** The meaning of the end of a response; the format has no reason of its own for calls and refusals. */
function responsesFinish(response: JsonObject, called: boolean, refused: boolean): TurnEvent {
  const status = stringAt(response, 'status') ?? 'completed';
  const details = stringAt(objectAt(response, 'incomplete_details') ?? {}, 'reason');
  const raw = { format: 'responses', value: status === 'incomplete' ? (details ?? status) : status } as const;
  if (status === 'incomplete') {
    return { type: 'finish', reason: details === 'content_filter' ? 'content-filter' : 'length', raw };
  }
  return { type: 'finish', reason: called ? 'tool' : refused ? 'refusal' : 'stop', raw };
}

export class ResponsesReader implements EventReader {
  readonly #items = new Map<string, ItemReader>();
  /** The first item of each id. */
  readonly #byId = new Map<string, ItemReader>();
  #last: ItemReader | undefined;
  #nextKey = 0;
  #started = false;
  #ended = false;

  read(event: string | null, data: string): readonly TurnEvent[] {
    if (data.trim() === '[DONE]') return [];
    const value = parseJson(data);
    if (!isObject(value)) broken('an event is not a JSON object.');
    if (isErrorShape(value) || event === 'error') return [{ type: 'failure', error: value }];
    return this.take(stringAt(value, 'type') ?? event ?? '', value);
  }

  take(type: string, value: JsonObject): readonly TurnEvent[] {
    const response = objectAt(value, 'response');
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        return this.#start(response ?? {});
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
        return this.#end(response ?? {}, type === 'response.incomplete');
      case 'response.failed':
      case 'response.cancelled':
        return [{ type: 'failure', error: value }];
      case 'response.output_item.added':
        return this.#added(value);
      case 'response.output_item.done':
        return this.#itemDone(value);
    }
    if (!type.startsWith('response.')) return unread(value);
    const item = this.#itemOf(value);
    return item ? this.#begun(item.read(type, value)) : this.#begun(this.#orphan(type, value));
  }

  /** Only the last event has the reason to finish: without it, the answer is not complete. */
  finish(): readonly TurnEvent[] {
    return [];
  }

  #start(response: JsonObject): readonly TurnEvent[] {
    if (this.#started) return [];
    this.#started = true;
    return [
      {
        type: 'start',
        id: stringAt(response, 'id') ?? null,
        createdS: numberAt(response, 'created_at') ?? null,
        serviceTier: stringAt(response, 'service_tier'),
      },
    ];
  }

  /** Events of servers that leave out `response.created` begin the answer too. */
  #begun(events: readonly TurnEvent[]): readonly TurnEvent[] {
    return events.length === 0 ? events : [...this.#start({}), ...events];
  }

  #added(value: JsonObject): readonly TurnEvent[] {
    const item = objectAt(value, 'item');
    if (!item) broken('an output item is missing.');
    return this.#begun(this.#open(value, item).begin());
  }

  #open(value: JsonObject, item: JsonObject): ItemReader {
    checkNextPart(this.#items.size);
    const reader = new ItemReader(item, () => this.#nextKey++);
    const key = identity(value, item);
    const before = this.#items.get(key);
    if (before?.id !== undefined && this.#byId.get(before.id) === before) this.#byId.delete(before.id);
    this.#items.set(key, reader);
    if (reader.id !== undefined && !this.#byId.has(reader.id)) this.#byId.set(reader.id, reader);
    this.#last = reader;
    return reader;
  }

  #itemDone(value: JsonObject): readonly TurnEvent[] {
    const item = objectAt(value, 'item');
    if (!item) broken('an output item is missing.');
    const known = this.#items.get(identity(value, item)) ?? this.#withId(item.id);
    if (known) return known.done(item);
    const reader = this.#open(value, item);
    return this.#begun([...reader.begin(), ...reader.done(item)]);
  }

  #itemOf(value: JsonObject): ItemReader | undefined {
    if (numberAt(value, 'output_index') === undefined && stringAt(value, 'item_id') === undefined) return this.#last;
    return this.#items.get(identity(value, {})) ?? this.#withId(value.item_id);
  }

  #withId(id: Json | undefined): ItemReader | undefined {
    return typeof id === 'string' ? this.#byId.get(id) : undefined;
  }

  /** Text of a server that announces no items. */
  #orphan(type: string, value: JsonObject): readonly TurnEvent[] {
    if (type !== 'response.output_text.delta' && type !== 'response.refusal.delta') {
      return isRepeating(type) || isNotGenerated(type) ? [] : unread(value);
    }
    const item = this.#open(value, { type: 'message', id: value.item_id });
    return [...item.begin(), ...item.read(type, value)];
  }

  #end(response: JsonObject, incomplete: boolean): readonly TurnEvent[] {
    if (this.#ended) return [];
    this.#ended = true;
    const events: TurnEvent[] = [...this.#start(response)];
    for (const [index, item] of objectsAt(response, 'output').entries()) {
      const known = this.#items.get(`#${index}`) ?? this.#withId(item.id);
      if (known) events.push(...known.done(item));
      else {
        const reader = this.#open({ output_index: index }, item);
        events.push(...reader.begin(), ...reader.done(item));
      }
    }
    for (const item of this.#items.values()) events.push(...item.done({}));
    const items = [...this.#items.values()];
    const status = incomplete ? 'incomplete' : (stringAt(response, 'status') ?? 'completed');
    const called = items.some((item) => item.called);
    const refused = items.some((item) => item.refused);
    events.push(responsesFinish({ ...response, status }, called, refused));
    const tokens = readResponsesTokens(response.usage);
    if (tokens) events.push({ type: 'usage', tokens, terms: readResponsesTerms(response) });
    events.push({ type: 'end' });
    return events;
  }
}

function identity(value: JsonObject, item: JsonObject): string {
  const index = numberAt(value, 'output_index');
  return index === undefined ? (stringAt(value, 'item_id') ?? stringAt(item, 'id') ?? '') : `#${index}`;
}
