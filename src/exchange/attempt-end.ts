/** How an attempt has ended. */
import type { StopReason } from '../core/request-record.ts';
import type { TokenCounts } from '../core/usage.ts';
import type { ProviderFailure } from '../provider/failure.ts';
import type { Seen, StreamPosition } from '../wire/lane.ts';

/** `accepted`: the provider's 2xx headers arrived, so a call that ends now is owed. */
export type AttemptEnd =
  | {
      readonly kind: 'complete';
      readonly contentType: string;
      readonly meter: Seen;
      /** Before its terminal part. */
      readonly position: StreamPosition | null;
      terminal(counted: TokenCounts | null): Buffer;
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
