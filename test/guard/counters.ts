/**
 * Counts, in this process, what a request must not do too often. Import it before anything of the gateway: some of what
 * it replaces is taken by others when they are loaded.
 */
import { createHook } from 'node:async_hooks';
import module from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import web from 'node:stream/web';
import { MessagePort } from 'node:worker_threads';
import { aroundCommits } from '../support/commits.ts';

export interface Counts {
  /** Texts given to `JSON.parse`. */
  readonly parsed: readonly string[];
  /** Texts made by `JSON.stringify`. */
  readonly stringified: readonly string[];
  readonly webStreams: number;
  /** To other threads. */
  readonly messages: number;
  /** Of the ledger. */
  readonly transactions: number;
  /** The most transactions in one turn of the event loop. */
  readonly transactionsInOneTurnMax: number;
  /** Of the ledger's log to the disk. */
  readonly flushes: number;
  readonly timers: number;
  readonly promises: number;
  readonly threads: number;
}

/** Of every module that was loaded since. */
export const loadedModules: string[] = [];

let parsed: string[] = [];
let stringified: string[] = [];
let webStreams = 0;
let messages = 0;
let transactions = 0;
let transactionsInTurn = 0;
let transactionsInOneTurnMax = 0;
let counting = false;
const made = new Map<string, number>();

module.registerHooks({
  load(url, context, nextLoad) {
    loadedModules.push(url);
    return nextLoad(url, context);
  },
});

const { parse, stringify } = JSON;
JSON.parse = (text: string, reviver?: Parameters<typeof parse>[1]): unknown => {
  if (counting) parsed.push(String(text));
  return parse(text, reviver);
};
JSON.stringify = ((...given: Parameters<typeof stringify>) => {
  const text = stringify(...given);
  if (counting) stringified.push(text);
  return text;
}) as typeof stringify;

for (const name of ['ReadableStream', 'WritableStream', 'TransformStream'] as const) {
  const counted = new Proxy(web[name], {
    construct(target, given, newTarget): object {
      if (counting) webStreams += 1;
      return Reflect.construct(target, given, newTarget) as object;
    },
  });
  Object.defineProperty(globalThis, name, { value: counted, configurable: true, writable: true });
  Object.defineProperty(web, name, { value: counted, configurable: true, writable: true });
}
module.syncBuiltinESMExports();

const { postMessage } = MessagePort.prototype;
MessagePort.prototype.postMessage = function count(this: MessagePort, ...given: unknown[]): void {
  if (counting) messages += 1;
  Reflect.apply(postMessage, this, given);
};

aroundCommits(DatabaseSync.prototype, (commit) => {
  if (counting) {
    transactions += 1;
    transactionsInTurn += 1;
    transactionsInOneTurnMax = Math.max(transactionsInOneTurnMax, transactionsInTurn);
  }
  commit();
});

function turn(): void {
  transactionsInTurn = 0;
  if (counting) setImmediate(turn);
}

const hook = createHook({
  init: (_id, type) => {
    made.set(type, (made.get(type) ?? 0) + 1);
  },
});

/** What `work` makes this process do, beside this counter itself. */
export async function countDuring(work: () => Promise<unknown>): Promise<Counts> {
  parsed = [];
  stringified = [];
  webStreams = 0;
  messages = 0;
  transactions = 0;
  transactionsInOneTurnMax = 0;
  made.clear();
  counting = true;
  turn();
  hook.enable();
  await work();
  hook.disable();
  counting = false;
  return {
    parsed,
    stringified,
    webStreams,
    messages,
    transactions,
    transactionsInOneTurnMax,
    flushes: made.get('FSREQCALLBACK') ?? 0,
    timers: made.get('Timeout') ?? 0,
    promises: made.get('PROMISE') ?? 0,
    threads: made.get('WORKER') ?? 0,
  };
}
