/**
 * The runs of this process: their events are appended to the store together, a few times a second, and with them this process
 * hears that another one was asked to cancel a run. Readers in this process are woken when there is more to read.
 */
import type { Log } from '../core/log.ts';
import type { Runs } from '../ledger/port.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';
import type { BackgroundRun } from './background-run.ts';

/** What arrives within this time is appended together. */
const APPEND_MS = 100;
/** How often is asked whether a run was cancelled elsewhere. */
const LOOK_MS = 1_000;
const RETRY_MS = 1_000;

interface NamedRun {
  readonly keyId: string;
  readonly id: string;
}

export class RunJournal {
  readonly #ledger: Pick<Runs, 'appendRuns'>;
  readonly #log: Log;
  readonly #live = new Map<string, BackgroundRun>();
  readonly #readers = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | null = null;
  #dueAt = Number.POSITIVE_INFINITY;
  #lookAt = 0;
  #busy = false;

  constructor(ledger: Pick<Runs, 'appendRuns'>, log: Log) {
    this.#ledger = ledger;
    this.#log = log;
  }

  begin(run: BackgroundRun): void {
    this.#live.set(nameOf(run), run);
    this.#schedule(LOOK_MS);
  }

  hasEvents(): void {
    this.#schedule(APPEND_MS);
  }

  /** Its end is durable. */
  end(run: BackgroundRun): void {
    this.#live.delete(nameOf(run));
    this.#wake(run);
  }

  /** Null where it does not run in this process. */
  find(run: NamedRun): BackgroundRun | null {
    return this.#live.get(nameOf(run)) ?? null;
  }

  /** Calls the listener when there may be more to read of the run; returns how to stop that. */
  follow(run: NamedRun, listener: () => void): () => void {
    const name = nameOf(run);
    const listeners = getOrInsert(this.#readers, name, () => new Set<() => void>());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#readers.delete(name);
    };
  }

  #wake(run: NamedRun): void {
    for (const listener of this.#readers.get(nameOf(run)) ?? []) listener();
  }

  #schedule(ms: number): void {
    const at = performance.now() + ms;
    if (this.#busy || at >= this.#dueAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => void this.#append(), ms).unref();
  }

  async #append(): Promise<void> {
    this.#timer = null;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#busy = true;
    const looks = performance.now() >= this.#lookAt;
    if (looks) this.#lookAt = performance.now() + LOOK_MS;
    const sent = [...this.#live.values()]
      .map((run) => ({ run, events: run.take() }))
      .filter(({ events }) => looks || events !== null);
    let nextMs = LOOK_MS;
    try {
      if (sent.length > 0) await this.#send(sent);
    } catch (err) {
      this.#log.warn({ err, runs: sent.length }, 'the events of runs could not be stored; this is tried again');
      for (const { run } of sent) run.notAppended();
      nextMs = RETRY_MS;
    }
    this.#busy = false;
    if (this.#live.size === 0) return;
    const more = nextMs === LOOK_MS && [...this.#live.values()].some((run) => run.hasPending);
    this.#schedule(more ? APPEND_MS : nextMs);
  }

  async #send(sent: readonly { readonly run: BackgroundRun; readonly events: ReturnType<BackgroundRun['take']> }[]) {
    const states = await this.#ledger.appendRuns(sent.map(({ run: { keyId, id }, events }) => ({ keyId, id, events })));
    for (const [index, { run, events }] of sent.entries()) {
      run.appended();
      if (events !== null) this.#wake(run);
      // One that has ended elsewhere was given up: this process was frozen past its lease.
      if (states[index] !== 'running') run.stop('cancelled');
    }
  }
}

function nameOf({ keyId, id }: NamedRun): string {
  return `${keyId} ${id}`;
}
