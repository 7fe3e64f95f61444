/** The part of the ledger's port that is about runs: responses that are made in the background. */
import { change, lookup, type MethodsOf } from './operation.ts';

/** What a run begins with. It lives as long as its hold. The texts are JSON of the caller, opaque to the ledger. */
export interface NewRun {
  readonly id: string;
  /** As its client sees it first. */
  readonly response: string;
  /** The items that were new in its request; null where they are too large to be kept. */
  readonly input: string | null;
  /** How long it is kept after its end. */
  readonly keepMs: number;
  /** All runs of the key that have ended together: the oldest leave until there is room. */
  readonly keyBytesMax: number;
}

/** `lost`: nobody was left to end it. */
export type RunStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'lost';

/** Events of a run that follow each other, as every reader gets them. */
export interface RunEvents {
  readonly first: number;
  readonly last: number;
  readonly frames: Uint8Array;
}

export interface RunEnd {
  readonly id: string;
  readonly status: Exclude<RunStatus, 'in_progress'>;
  /** Those that were not appended before, the terminal one among them. */
  readonly events: readonly RunEvents[];
}

/** A run whose gateway tells that it goes on, with the events that are new; null where there are none. */
export interface RunProgress {
  readonly keyId: string;
  readonly id: string;
  readonly events: RunEvents | null;
}

export interface RunState {
  readonly id: string;
  readonly status: RunStatus;
  /** Somebody has asked for its end. */
  readonly cancelled: boolean;
  /** The number of the last event that is stored; -1 before the first. */
  readonly lastEvent: number;
  readonly response: string;
}

/** How far a run is, and some of its events. */
export interface RunPage extends Pick<RunState, 'status' | 'lastEvent'> {
  readonly events: readonly RunEvents[];
}

/** Which run of a key: by its own id, or by the claim that it was created with. */
export type RunName = { readonly id: string } | { readonly claim: string };

/** Runs are there for the key that created them, and for `keepMs` after their end. */
export const RUN_OPERATIONS = {
  /** What became of each: events for a run that has ended are not taken. */
  appendRuns: change<(runs: readonly RunProgress[]) => readonly ('running' | 'cancelled' | 'ended')[]>().takes('runs'),
  findRun: lookup<(keyId: string, name: RunName) => RunState | null>().takes('keyId', 'name'),
  /** The events after this one, in their order, and no more of them than `bytesMax` once there is one. */
  readRun: lookup<(keyId: string, id: string, after: number, bytesMax: number) => RunPage | null>().takes(
    'keyId',
    'id',
    'after',
    'bytesMax',
  ),
  /** Its gateway is asked to end it; one that has ended stays as it is. */
  cancelRun: change<(keyId: string, id: string) => RunState | null>().takes('keyId', 'id'),
  /** The end of a run that is not charged; before its hold is voided. */
  endRun: change<(keyId: string, end: RunEnd) => null>().takes('keyId', 'end'),
  /** One that has ended. */
  deleteRun: change<(keyId: string, id: string) => { readonly kind: 'deleted' | 'unknown' }>().takes('keyId', 'id'),
};

export type Runs = MethodsOf<typeof RUN_OPERATIONS>;
