/** The plan of a request: decided from itself and the catalog alone, before anything is held for it. */
import type { Model, Target } from '../core/model.ts';
import type { HoldTerms } from '../core/money.ts';
import type { InputEstimate } from '../counting/input-estimate.ts';
import type { Lanes } from './lanes.ts';
import type { ValidRequest } from './request.ts';

/** Tokens of output per second that a stream does not exceed, by what is known at the moment. */
type SpeedBound = () => number;

/** How the hold of a request goes along with its stream. */
export interface Growth {
  /** Whether the hold grows with the stream instead of carrying the worst case from the start. */
  readonly elastic: boolean;
  /** Whether output may be billed that cannot be seen in the stream. */
  readonly hides: boolean;
  /** Bounds hidden output by time; only of an elastic hold. */
  readonly speed: SpeedBound | null;
  /** How much output the hold must carry at first: everything, or for an elastic hold a slice. */
  readonly firstOutputTokens: number;
}

export interface Plan extends Growth {
  readonly request: ValidRequest;
  readonly model: Model;
  /** The candidates, in the order of the catalog: within the key's scope, one for each upstream model of a provider. */
  readonly targets: readonly Target[];
  readonly lanes: Lanes;
  readonly input: InputEstimate;
  /** How often the model may run for the answer. */
  readonly runs: number;
  /** The dearest that the request can be at any of its targets. */
  readonly terms: HoldTerms;
  /** Effective limit of one choice, if the balance carries it. */
  readonly outputLimit: number;
  /** The least that a hold must carry. */
  readonly outputLimitMin: number;
  /** How long the exchange may take, from acceptance. */
  readonly totalMs: number;
}
