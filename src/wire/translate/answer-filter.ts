/**
 * The events of an answer pass through here between the target's reader and the client's writer: calls that were cut off are
 * marked, characters made whole, stop sequences that the target does not take, JSON mode where it has none, the client's own
 * tool names, and the explanation of a refusal.
 */
import { CutCalls } from './cut-calls.ts';
import { RefusalExplainer } from './explain-refusal.ts';
import { JsonObjectFilter } from './json-object.ts';
import { ToolNameRestorer } from './restore-tools.ts';
import { StopFilter } from './stop-sequences.ts';
import type { ToolNames } from './tool-names.ts';
import type { TurnEvent } from './turn.ts';
import { WholeCharacters } from './whole-characters.ts';

interface AnswerFilterOptions {
  readonly names: ToolNames;
  /** Stop sequences for the gateway to apply. */
  readonly stop: readonly string[];
  /** Whether the answer must be a JSON object, and the target could only be asked for one. */
  readonly jsonObject?: boolean | undefined;
  /** Whether the client's format has a field for the explanation of a refusal; otherwise it becomes refusal text. */
  readonly explainsRefusals: boolean;
}

/** One per attempt. */
export class AnswerFilter {
  readonly #calls = new CutCalls();
  readonly #characters = new WholeCharacters();
  readonly #stop: StopFilter | null;
  readonly #json: JsonObjectFilter | null;
  readonly #restorer: ToolNameRestorer;
  readonly #explainer: RefusalExplainer | null;

  constructor({ names, stop, jsonObject, explainsRefusals }: AnswerFilterOptions) {
    this.#stop = stop.length > 0 ? new StopFilter(stop) : null;
    this.#json = jsonObject === true ? new JsonObjectFilter() : null;
    this.#restorer = new ToolNameRestorer(names);
    this.#explainer = explainsRefusals ? null : new RefusalExplainer();
  }

  /** The answer is over for the client, though the provider goes on. */
  get over(): boolean {
    return this.#stop?.hit ?? false;
  }

  apply(event: TurnEvent): readonly TurnEvent[] {
    // Most events are text, which no call is concerned with.
    const isText = event.type === 'text-delta' || event.type === 'reasoning-delta';
    let kept = isText
      ? this.#characters.take(event)
      : this.#calls.take(event).flatMap((one) => this.#characters.take(one));
    const stop = this.#stop;
    if (stop) kept = kept.flatMap((one) => stop.take(one));
    const json = this.#json;
    if (json) kept = kept.flatMap((one) => json.take(one));
    const restored = kept.flatMap((one) => this.#restorer.restore(one));
    const explainer = this.#explainer;
    return explainer ? restored.flatMap((one) => explainer.explain(one)) : restored;
  }
}
