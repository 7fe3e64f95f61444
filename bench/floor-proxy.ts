/**
 * The least that durable accounting costs in Node: the bare proxy, and for each request a body parsed, an answer parsed for its usage, a
 * hold in memory, two rows in SQLite that are on the disk before the answer leaves (requests that end together share the commit and the
 * flush), a row of a log and a line of another. No keys, limits, formats, routing, retries or metrics.
 * `node bench/floor-proxy.ts PORT UPSTREAM_ORIGIN FOLDER`
 */
import { fdatasync, mkdirSync, openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Dispatcher, Pool } from 'undici';

const [portText, upstreamOrigin, folder] = process.argv.slice(2);
if (!portText || !upstreamOrigin || !folder) throw new Error('usage: floor-proxy.ts PORT UPSTREAM_ORIGIN FOLDER');
/** Of the log's rows and lines. */
const LOG_EVERY_MS = 250;
const HOLD = 10_000;
mkdirSync(folder, { recursive: true });

const upstream = new Pool(upstreamOrigin, { pipelining: 1, keepAliveTimeout: 60_000, allowH2: false });
const ledger = open('floor.db', 'number INTEGER PRIMARY KEY, amount INTEGER, at_ms INTEGER');
ledger.exec('CREATE TABLE usage (number INTEGER PRIMARY KEY, model TEXT, input INTEGER, output INTEGER)');
ledger.exec('CREATE TABLE keys (id TEXT PRIMARY KEY, balance INTEGER); INSERT INTO keys VALUES (1, 1000000000000)');
const addEntry = ledger.prepare('INSERT INTO rows VALUES (?, ?, ?)');
const addUsage = ledger.prepare('INSERT INTO usage VALUES (?, ?, ?, ?)');
const saveKey = ledger.prepare('UPDATE keys SET balance = ? WHERE id = 1');
const wal = openSync(join(folder, 'floor.db-wal'), 'r+');
const log = open(
  'log.db',
  'number INTEGER PRIMARY KEY, at_ms INTEGER, model TEXT, status INTEGER, input INTEGER, output INTEGER',
);
const addRecord = log.prepare('INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)');
const lines = openSync(join(folder, 'access.log'), 'a');

interface Charge {
  readonly number: number;
  readonly atMs: number;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly answer: () => void;
}

let balance = 1_000_000_000_000;
let held = 0;
let lastNumber = 0;
let ended: Charge[] = [];
let logged: Charge[] = [];
let flushing = false;

function open(name: string, columns: string): DatabaseSync {
  const database = new DatabaseSync(join(folder ?? '', name));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE rows (${columns})`);
  return database;
}

function whole(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

/** All that have ended by now are one commit and one flush; those that end meanwhile are the next. */
function commit(): void {
  if (flushing || ended.length === 0) return;
  flushing = true;
  const batch = ended;
  ended = [];
  ledger.exec('BEGIN');
  for (const { number, atMs, model, input, output } of batch) {
    balance -= input + output;
    held -= HOLD;
    addEntry.run(number, input + output, atMs);
    addUsage.run(number, model, input, output);
  }
  saveKey.run(balance);
  ledger.exec('COMMIT');
  fdatasync(wal, (error) => {
    if (error) throw error;
    flushing = false;
    for (const charge of batch) charge.answer();
    logged.push(...batch);
    setImmediate(commit);
  });
}

setInterval(() => {
  const batch = logged;
  logged = [];
  log.exec('BEGIN');
  for (const { number, atMs, model, input, output } of batch) addRecord.run(number, atMs, model, 200, input, output);
  log.exec('COMMIT');
  writeSync(
    lines,
    batch.map(({ number, atMs, model }) => `${JSON.stringify({ number, atMs, model, status: 200 })}\n`).join(''),
  );
}, LOG_EVERY_MS);

class Forward implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #model: string;
  readonly #parts: Buffer[] = [];

  constructor(response: ServerResponse, model: string) {
    this.#response = response;
    this.#model = model;
  }

  onRequestStart(): void {}

  onResponseStart(): void {}

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#parts.push(chunk);
  }

  onResponseEnd(): void {
    const body = whole(this.#parts);
    const { usage } = JSON.parse(body.toString()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    const answer = (): void => {
      this.#response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    };
    const [input, output] = [usage.prompt_tokens, usage.completion_tokens];
    ended.push({ number: ++lastNumber, atMs: Date.now(), model: this.#model, input, output, answer });
    if (ended.length === 1) setImmediate(commit);
  }

  onResponseError(): void {
    held -= HOLD;
    this.#response.writeHead(502).end();
  }
}

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (body.length === 0) {
    response.writeHead(404).end();
    return;
  }
  const { model } = JSON.parse(body.toString()) as { model: string };
  if (balance - held < HOLD) {
    response.writeHead(402).end();
    return;
  }
  held += HOLD;
  upstream.dispatch(
    {
      path: request.url ?? '/',
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
      body,
    },
    new Forward(response, model),
  );
}

createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => forward(request, response, whole(parts)));
}).listen({ port: Number(portText), host: '127.0.0.1', backlog: 4096 });
