/** Reading a run: the response as it is now, and its events as a stream, first those that are stored and then live ones. */
import { GatewayError } from '../core/conditions.ts';
import { INPUT_EVENT, type RunState, type StoredLink } from '../ledger/port.ts';
import { isObject, type JsonObject, parseJson, stringAt } from '../lib/json.ts';
import { FORMATS } from '../wire/formats.ts';
import { addToSnapshot, endedResponse, endingFrame, framesAfter, lastResponse } from '../wire/responses/run-events.ts';
import { ResponseSnapshot } from '../wire/responses/snapshot.ts';
import { requestIdOf } from './background.ts';
import { type Gateway, storeFailed } from './gateway.ts';
import type { ResponseSink } from './response-sink.ts';

/** So much is read of a run at a time. */
const PAGE_BYTES = 256 * 1_024;
/** How often is looked for more events of a run of another process, and of one of this process, which tells of them. */
const POLL_MS = 250;
const POLL_OWN_MS = 5_000;
/** A reader that does not take its last bytes is disconnected after this. */
const LINGER_MS = 30_000;
const NOTHING = Buffer.alloc(0);

const LOST = 'The gateway that made this response has stopped before it was complete. What it had produced is charged.';

export function isOver({ status }: Pick<RunState, 'status'>): boolean {
  return status !== 'in_progress';
}

/** The response object of a run, at every stage of it. */
export async function runResponse(gateway: Gateway, keyId: string, run: RunState): Promise<JsonObject> {
  if (run.status === 'in_progress') return firstResponse(run);
  if (run.status === 'lost') return lostResponse(gateway, keyId, run);
  const { ledger } = gateway;
  const end = await ledger.readRun(keyId, run.id, run.lastEvent - 1, 1).catch(storeFailed);
  return lastResponse(Buffer.concat(end?.events.map(({ frames }) => frames) ?? [])) ?? firstResponse(run);
}

/** A run as a link of a conversation, while its response is not kept as such; null where its input is not there. */
export async function runLink({ ledger }: Gateway, keyId: string, id: string): Promise<StoredLink | null> {
  const run = await ledger.findRun(keyId, { id }).catch(storeFailed);
  const page = await ledger.readRun(keyId, id, INPUT_EVENT - 1, 1).catch(storeFailed);
  const [first] = page?.events ?? [];
  if (run === null || first?.first !== INPUT_EVENT) return null;
  const parentId = stringAt(firstResponse(run), 'previous_response_id') ?? null;
  return { id, parentId, input: Buffer.from(first.frames).toString(), output: '' };
}

function firstResponse({ response }: RunState): JsonObject {
  const value = parseJson(response);
  return isObject(value) ? value : {};
}

/** Made of what is stored, so that it is the same for everybody. */
async function lostResponse({ ledger }: Gateway, keyId: string, run: RunState): Promise<JsonObject> {
  const first = firstResponse(run);
  const snapshot = new ResponseSnapshot();
  snapshot.created(first);
  let after = -1;
  while (after < run.lastEvent) {
    const page = await ledger.readRun(keyId, run.id, after, PAGE_BYTES).catch(storeFailed);
    for (const { frames } of page?.events ?? []) addToSnapshot(snapshot, Buffer.from(frames));
    after = page?.events.at(-1)?.last ?? run.lastEvent;
  }
  const request_id = requestIdOf(run.id);
  const error = { code: 'server_error', message: LOST, type: 'api_error', param: null, request_id };
  return endedResponse(snapshot.response() ?? first, { status: 'failed', error });
}

/**
 * Sends the events after this one until the run has ended or the time of a stream is over: then without a terminal event, and
 * the run goes on. A reader that does not read is waited for, and holds no more than a page.
 */
export async function streamRun(
  gateway: Gateway,
  named: { readonly keyId: string; readonly id: string },
  startingAfter: number,
  response: ResponseSink,
): Promise<void> {
  const { ledger, runs } = gateway;
  const { streams } = gateway.policy();
  const keepAliveMs = streams.keepAliveMs === 0 ? Number.POSITIVE_INFINITY : streams.keepAliveMs;
  const pause = new Pause(performance.now() + streams.totalMs);
  response.onClose(() => pause.close());
  const unfollow = runs.follow(named, () => pause.wake());
  const { keyId, id } = named;
  let after = startingAfter;
  try {
    response.writeHead('text/event-stream; charset=utf-8', true);
    let silentMs = 0;
    for (;;) {
      const page = await ledger.readRun(keyId, id, after, PAGE_BYTES);
      if (page === null) break;
      for (const { first, last, frames } of page.events) {
        const bytes = Buffer.from(frames);
        await write(response, first > after ? bytes : framesAfter(bytes, after), pause);
        after = Math.max(after, last);
        silentMs = 0;
      }
      if (pause.over) break;
      if (after < page.lastEvent && page.events.length > 0) continue;
      if (isOver(page)) {
        if (page.status === 'lost' && after <= page.lastEvent) await writeLost(gateway, named, response, pause);
        break;
      }
      const own = runs.find(named) !== null;
      // Whoever reads a run of another gateway can go on reading there.
      if (!own && gateway.inFlight.draining) break;
      silentMs += await pause.wait(Math.min(own ? POLL_OWN_MS : POLL_MS, keepAliveMs));
      if (silentMs >= keepAliveMs) {
        silentMs = 0;
        response.write(FORMATS.responses.keepAlive);
      }
    }
    response.end(NOTHING, LINGER_MS);
  } catch (error) {
    // A stream that breaks off can be taken up again where it was.
    if (!(error instanceof GatewayError)) gateway.log.warn({ err: error, keyId }, 'the stream of a run broke off');
    response.destroy();
  } finally {
    unfollow();
  }
}

async function writeLost(
  gateway: Gateway,
  { keyId, id }: { readonly keyId: string; readonly id: string },
  response: ResponseSink,
  pause: Pause,
): Promise<void> {
  const run = await gateway.ledger.findRun(keyId, { id });
  if (run === null) return;
  await write(response, endingFrame(run.lastEvent + 1, await lostResponse(gateway, keyId, run)), pause);
}

async function write(response: ResponseSink, bytes: Buffer, pause: Pause): Promise<void> {
  if (bytes.length === 0 || pause.over || response.write(bytes)) return;
  let drained = false;
  response.onDrain(() => {
    drained = true;
    pause.wake();
  });
  while (!drained && !pause.over) await pause.wait(POLL_OWN_MS);
}

/** Waits until it is woken, and never beyond its end. */
class Pause {
  readonly #endAt: number;
  #closed = false;
  #woken = false;
  #resolve: () => void = () => {};

  constructor(endAt: number) {
    this.#endAt = endAt;
  }

  get over(): boolean {
    return this.#closed || performance.now() >= this.#endAt;
  }

  /** From now on nobody waits. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  wake(): void {
    this.#woken = true;
    this.#resolve();
  }

  /** Over at once where it was woken since the last time; returns how long it was. */
  async wait(ms: number): Promise<number> {
    const startedAt = performance.now();
    const mostMs = Math.max(0, Math.min(ms, this.#endAt - startedAt));
    if (!this.#woken && !this.#closed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, mostMs);
        this.#resolve = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#woken = false;
    return performance.now() - startedAt;
  }
}
