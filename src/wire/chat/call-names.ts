/** The names of the tools that deltas begin to call. Servers may repeat a name with every piece of its arguments. One per attempt. */
import { type JsonObject, numberAt, objectAt, stringAt } from '../../lib/json.ts';
import { callsOf } from './tool-call-reader.ts';

/** The most choices whose last call is remembered; the names of others are all new. */
const CHOICES_MAX = 128;

interface Call {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string;
}

export class CallNames {
  readonly #last = new Map<number, Call>();

  begunIn(choice: JsonObject): readonly string[] {
    const delta = objectAt(choice, 'delta') ?? objectAt(choice, 'message') ?? {};
    const calls = callsOf(delta).map(callOf);
    const place = numberAt(choice, 'index') ?? 0;
    return calls.filter((call) => call.name !== '' && this.#begins(place, call)).map(({ name }) => name);
  }

  #begins(place: number, call: Call): boolean {
    const last = this.#last.get(place);
    const same = last?.index === call.index && last?.name === call.name;
    const sameId = call.id === undefined ? call.index !== undefined : call.id === last?.id;
    if (last !== undefined && same && sameId) return false;
    if (last !== undefined || this.#last.size < CHOICES_MAX) this.#last.set(place, call);
    return true;
  }
}

function callOf(call: JsonObject): Call {
  const details = objectAt(call, 'custom') ?? objectAt(call, 'function') ?? {};
  return {
    index: numberAt(call, 'index'),
    id: stringAt(call, 'id') || undefined,
    name: stringAt(details, 'name') ?? '',
  };
}
