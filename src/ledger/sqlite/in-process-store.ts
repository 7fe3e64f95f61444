/**
 * The embedded store, in the thread that serves. Its transactions are written to the file at once, which takes microseconds;
 * everything that waits for the disk happens on other threads.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../core/clock.ts';
import type { RolledUp } from '../../core/usage-report.ts';
import { hasNothing, type RollupStep } from '../../reports/sqlite/rollup.ts';
import { asStoreError, StoreBrokenError, type StoreError } from '../../storage/errors.ts';
import type { Operation, OperationName, Outcome, Result } from '../operations.ts';
import { eventBytes, responseBytes } from '../rules/stored-responses.ts';
import type { Store } from '../store.ts';
import { BackgroundWorker, DiskError, type StartBackgroundThread } from './background-client.ts';
import { chargeJournalFile, createChargeJournal } from './charge-journal.ts';
import { openDatabase } from './database.ts';
import { openEngine, type SqliteEngine } from './engine.ts';
import { OpenedFiles } from './opened-files.ts';
import { isOfEverything, isReport } from './reports.ts';
import { type LogFile, openLogFile } from './wal-file.ts';

export interface InProcessStoreOptions {
  readonly file: string;
  /** The disk has failed, or the files are gone: from now on every batch fails. */
  readonly onBroken?: (why: Error) => void;
  readonly clock?: Clock;
  /** How a file reaches the disk: the database's log, and the journal of charges. */
  readonly log?: (file: string) => LogFile;
  /** The log goes back into the database after about so many of its pages. */
  readonly checkpointPages?: number;
  /** Where the background work is done; in a thread of its own by default. */
  readonly startBackground?: StartBackgroundThread;
}

/** The longest that something in memory, or committed, waits for a flush that nobody asked for. */
const FLUSH_WITHIN_MS = 1_000;
const CHECKPOINT_PAGES = 4_000;
const PAGES_OF_OPERATION = 3;
/** Rows that are written together share their pages. */
const PAGES_OF_JOURNALLED = 1 / 4;
const PAGE_BYTES = 4_096;
/** With these the store says that it can serve, so they look at the files first. */
const SIGNS_OF_LIFE: ReadonlySet<OperationName> = new Set<OperationName>(['registerOwner', 'heartbeat', 'ping']);

export function openInProcessStore(options: InProcessStoreOptions): Store {
  const clock = options.clock ?? systemClock();
  const database = openDatabase(options.file);
  const engine = openEngine(database, options.file, clock);
  try {
    // From here on this store does what SQLite would do inside of a commit, without a thread that waits for it. Only when
    // the log starts over does SQLite itself wait for the disk (with OFF it would not): if the new beginning of the log
    // reached the disk after what follows it, a loss of power would bring old commits back.
    database.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
    createChargeJournal(options.file);
    const open = options.log ?? openLogFile;
    const logs = { commits: open(`${options.file}-wal`), charges: open(chargeJournalFile(options.file)) };
    return new InProcessStore(database, engine, clock, logs, options);
  } catch (error) {
    engine.close();
    throw asStoreError(error);
  }
}

/** What has to reach the disk before anybody is told of it. */
interface Logs {
  readonly commits: LogFile;
  readonly charges: LogFile;
}

class InProcessStore implements Store {
  readonly background: Store = {
    apply: (batch) => this.#applyInBackground(batch),
    flushed: () => this.flushed(),
    close: async () => {},
  };
  readonly #database: DatabaseSync;
  readonly #engine: SqliteEngine;
  readonly #clock: Clock;
  readonly #logs: Logs;
  readonly #files: OpenedFiles;
  readonly #background: BackgroundWorker;
  readonly #onBroken: (why: Error) => void;
  readonly #checkpointPages: number;
  #broken: StoreBrokenError | null = null;
  /** How many transactions were committed, and how many of them the disk has. */
  #commits = 0;
  #flushedCommits = 0;
  /** Since the last commit. */
  #journalled = false;
  /** How often something was charged or a key moved, and how often when the rollups had it all. */
  #changes = 0;
  #rolledUp = -1;
  #flushTimer: NodeJS.Timeout | null = null;
  #pages = 0;
  #checkpoint: Promise<void> | null = null;
  /** While it is there, nothing may be committed. */
  #pause: Promise<unknown> | null = null;

  constructor(
    database: DatabaseSync,
    engine: SqliteEngine,
    clock: Clock,
    logs: Logs,
    { file, onBroken, checkpointPages, startBackground }: InProcessStoreOptions,
  ) {
    this.#database = database;
    this.#engine = engine;
    this.#clock = clock;
    this.#logs = logs;
    this.#files = new OpenedFiles([file, `${file}-wal`, chargeJournalFile(file)]);
    this.#checkpointPages = checkpointPages ?? CHECKPOINT_PAGES;
    this.#background = new BackgroundWorker(file, startBackground);
    this.#onBroken = onBroken ?? (() => {});
  }

  async apply(batch: readonly Operation[]): Promise<readonly Result[]> {
    while (this.#pause !== null) await this.#pause;
    if (batch.some(({ op }) => SIGNS_OF_LIFE.has(op))) this.#checkFiles();
    if (this.#broken !== null) throw this.#broken;
    const journalled = this.#isOnDisk() ? this.#engine.chargeNow(batch) : null;
    if (journalled !== null) {
      this.#changes += batch.length;
      this.#journalled = true;
      this.#flushSoon();
      return journalled;
    }
    let pages = this.#engine.journalled * PAGES_OF_JOURNALLED;
    const results = this.#tryEngine(() => this.#engine.apply(batch));
    for (const [index, operation] of batch.entries()) {
      pages += pagesOf(operation);
      if (changesRollups(operation, results[index] ?? null)) this.#changes++;
    }
    this.#committed(pages);
    return results;
  }

  now(operation: Operation): Result {
    if (this.#broken !== null) return null;
    const outcome = this.#engine.now(operation);
    if (outcome !== null) this.#flushSoon();
    return outcome;
  }

  /** Nothing more is written into a database that turns out to be damaged. */
  #tryEngine<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof StoreBrokenError) this.#break(error);
      throw error;
    }
  }

  #checkFiles(): void {
    const change = this.#files.change();
    if (change === null) return;
    const advice = 'restore the data folder and start the gateway again';
    this.#break(new StoreBrokenError(`${change} while the gateway was using it: ${advice}`));
  }

  /** Whether it has everything that was committed. */
  #isOnDisk(): boolean {
    return this.#commits === this.#flushedCommits;
  }

  #committed(pages: number): void {
    this.#commits++;
    this.#journalled = false;
    this.#flushSoon();
    this.#pages += pages;
    if (this.#pages > this.#checkpointPages) this.#checkpoint ??= this.#writeBack();
  }

  #flushSoon(): void {
    this.#flushTimer ??= setTimeout(() => this.#flushLate(), FLUSH_WITHIN_MS).unref();
  }

  async #write(everything: boolean): Promise<void> {
    while (this.#pause !== null) await this.#pause;
    if (this.#broken !== null) throw this.#broken;
    const pages = PAGES_OF_OPERATION + this.#engine.journalled * PAGES_OF_JOURNALLED;
    if (this.#tryEngine(() => this.#engine.write(everything))) this.#committed(pages);
  }

  async flushed(): Promise<void> {
    const commits = this.#commits;
    try {
      // What the journal had before a commit is in that commit too.
      if (this.#journalled) await this.#logs.charges.flushed();
      else await this.#logs.commits.flushed();
    } catch (error) {
      throw this.#breakByDisk(error);
    }
    this.#flushedCommits = Math.max(this.#flushedCommits, commits);
    // The system reports a failed write once: a flush after that one proves nothing.
    if (this.#broken !== null) throw this.#broken;
  }

  async close(): Promise<void> {
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    await this.#checkpoint;
    await this.#background.close();
    // Closing writes the whole log back and removes it. What the disk may not have must stay in the log as it is: the
    // files are left to the end of the process.
    if (this.#broken !== null) return;
    await this.flushed();
    this.#logs.commits.close();
    this.#logs.charges.close();
    this.#database.exec('PRAGMA synchronous = FULL');
    this.#engine.close();
  }

  async #applyInBackground(batch: readonly Operation[]): Promise<readonly Result[]> {
    const results: Result[] = [];
    for (const operation of batch) {
      if (isReport(operation)) {
        const time = { nowMs: this.#clock.nowMs(), steadyMs: (this.#clock.steady ?? this.#clock).nowMs() };
        await this.#write(isOfEverything(operation));
        results.push((await this.#background.do({ op: 'report', report: operation, time })) as Outcome);
      } else if (operation.op === 'rollUp') results.push(await this.#rollUp(operation.limit));
      else results.push(...(await this.apply([operation])));
    }
    return results;
  }

  /** Read and summed up in the background; only what comes of it is added here. */
  async #rollUp(limit: number): Promise<RolledUp> {
    if (this.#broken !== null) throw this.#broken;
    if (this.#changes === this.#rolledUp) return { charges: 0, more: false };
    const before = this.#changes;
    await this.#write(false);
    const step = (await this.#background.do({ op: 'readRollup', limit })) as RollupStep;
    if (hasNothing(step)) {
      this.#rolledUp = before;
      return { charges: 0, more: false };
    }
    while (this.#pause !== null) await this.#pause;
    if (this.#broken !== null) throw this.#broken;
    const rolled = this.#tryEngine(() => this.#engine.addToRollups(step));
    this.#committed(step.rows.length + step.accountDays.length);
    return rolled;
  }

  #flushLate(): void {
    this.#flushTimer = null;
    this.#write(false)
      .then(() => (this.#isOnDisk() ? undefined : this.flushed()))
      // A failure of the disk is reported by `onBroken`; what could not be written goes with the next batch.
      .catch(() => {});
  }

  /**
   * Writes most of the log back while commits go on; then, while they wait, the little that they added, so that the log
   * starts over. Where the disk fails the store ends, as after a failed flush; where it is only full, or the thread has
   * died, the log stays, and the next checkpoint goes on from there.
   */
  async #writeBack(): Promise<void> {
    this.#pages = 0;
    try {
      await this.#background.do({ op: 'checkpoint' });
      // Behind a report the pause would be a long one.
      if (!this.#background.idle) return;
      const rest = this.#background.do({ op: 'checkpoint' });
      this.#pause = rest.catch(() => {});
      await rest;
    } catch (error) {
      if (error instanceof DiskError) this.#breakByDisk(error);
    } finally {
      this.#pause = null;
      this.#checkpoint = null;
    }
  }

  /** What the system failed to write it may forget: only a new process finds out what the disk has. */
  #breakByDisk(error: unknown): StoreError {
    return this.#break(new StoreBrokenError('the disk did not take what was committed', { cause: error }));
  }

  #break(why: StoreBrokenError): StoreError {
    if (this.#broken === null) {
      this.#broken = why;
      this.#onBroken(why);
    }
    return this.#broken;
  }
}

function changesRollups({ op }: Operation, result: Result): boolean {
  if (op === 'settle' || op === 'moveKey' || op === 'joinAccount') return true;
  return op === 'recover' && result !== null && 'voided' in result && result.charged > 0;
}

function bytesOf(operation: Operation): number {
  if (operation.op === 'appendRuns') {
    return operation.runs.reduce((sum, { events }) => sum + (events?.frames.length ?? 0), 0);
  }
  if (operation.op !== 'settle') return 0;
  const { reply, kept, run } = operation.request;
  return (reply?.body.byteLength ?? 0) + (kept ? responseBytes(kept) : 0) + (run ? eventBytes(run) : 0);
}

/** How much an operation adds to the log, about. */
function pagesOf(operation: Operation): number {
  const bytes = bytesOf(operation);
  return PAGES_OF_OPERATION + Math.ceil(bytes / PAGE_BYTES);
}
