/** How an attempt has ended. */
import type { StopReason } from '../core/request-record.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import type { Meter, StreamPosition } from '../wire/lane.ts';
import type { OutputSample } from '../wire/output-sample.ts';

/** What the meter has seen of an attempt, and the text that it has seen, if it may have to be counted. */
export interface Seen extends Meter {
  readonly sample?: OutputSample | null;
}

/** `accepted`: the provider's 2xx headers arrived, so a call that ends now is owed. */
export type AttemptEnd =
  | {
      readonly kind: 'complete';
      readonly contentType: string;
      readonly meter: Meter;
      /** Before its terminal part. */
      readonly position: StreamPosition | null;
      terminal(): Buffer;
    }
  | AttemptFailure
  | {
      readonly kind: 'stopped';
      readonly reason: StopReason;
      readonly accepted: boolean;
      readonly meter: Seen | null;
      readonly position: StreamPosition | null;
    };

export interface AttemptFailure extends ProviderFailure {
  readonly kind: 'failed';
  /** Null while no content has been sent to the client: then nothing is owed. */
  readonly meter: Seen | null;
  readonly position: StreamPosition | null;
}
