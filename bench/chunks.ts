/**
 * What a chunk of a stream costs by itself: `node bench/chunks.ts [--peers bare,gateway,gateway@DIR] [--rounds N] [--tls]`.
 * The upstream writes one chunk to each of the open streams, and the next ones when all have arrived at their clients. So every
 * chunk is one read and one write of the peer, however fast it is; where chunks are not waited for, a slower peer gets more of
 * them with one read, and looks better for it. Opening and ending the streams is not in the figures.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';
import { parseArgs } from 'node:util';
import { treeUse } from './cpu.ts';
import { type Adapter, type RunningPeer, startPeer } from './peer.ts';
import { ADAPTERS } from './peers/all.ts';
import { gatewayOfCheckout } from './peers/gateway.ts';
import { findPlacement, freePort } from './processes.ts';
import { MARK, modelName, PATHS, type RequestShape, requestBody } from './requests.ts';
import { bootstrapMedian, pairedRatio } from './stats.ts';
import { makeTlsFiles, type TlsFiles } from './tls.ts';

const STREAMS = 32;
const WAVES = 60;
const WARM_UP_VISITS = 15;
const SHAPE: RequestShape = {
  client: 'chat',
  native: 'chat',
  bodyBytes: 1_024,
  answer: { kind: 'stream', chunks: WAVES, paceMs: 0 },
};
const TERMINATOR = '0\r\n\r\n';
const MARK_BYTE = MARK.charCodeAt(0);

function frame(choices: readonly object[], more: object = {}): string {
  const common = { id: 'chatcmpl-bench0123456789', created: 1_790_000_000, model: modelName(SHAPE) };
  return `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
}

function delta(value: object, reason: string | null): string {
  return frame([{ index: 0, delta: value, logprobs: null, finish_reason: reason }]);
}

const OPENING = delta({ role: 'assistant', content: '' }, null);
const CHUNKS = Array.from({ length: WAVES }, (_, i) => Buffer.from(delta({ content: `${MARK}word${i} ` }, null)));
const USAGE = { prompt_tokens: 200, completion_tokens: WAVES, total_tokens: 200 + WAVES };
const CLOSING = `${delta({}, 'stop')}${frame([], { usage: USAGE })}data: [DONE]\n\n`;

/** The streams of the visit under way, as the upstream has them. */
class Upstream {
  readonly server: Server;
  streams: ServerResponse[] = [];
  #allOpen: (() => void) | null = null;

  constructor(tls: TlsFiles | null) {
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.#serve(request, response);
    this.server = tls
      ? createSecureServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, serve)
      : createServer(serve);
    this.server.keepAliveTimeout = 600_000;
  }

  opened(): Promise<void> {
    this.streams = [];
    return new Promise((resolve) => {
      this.#allOpen = resolve;
    });
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    if (request.method !== 'POST') {
      response.end('{}');
      return;
    }
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(OPENING);
      this.streams.push(response);
      if (this.streams.length === STREAMS) this.#allOpen?.();
    });
  }
}

/** The clients of one peer, with a connection for each stream. */
class Clients {
  readonly #sockets: readonly Socket[];
  readonly #request: string;
  #missing = 0;
  #allArrived: () => void = () => {};
  #unended = 0;
  #allEnded: () => void = () => {};

  constructor(peer: RunningPeer, secure: boolean) {
    const { port } = new URL(peer.launch.origin);
    const body = requestBody(SHAPE, modelName(SHAPE));
    const headers = Object.entries({
      host: 'bench',
      'content-type': 'application/json',
      ...peer.launch.headers(SHAPE, 0),
    });
    const lines = [...headers, ['content-length', String(body.length)]].map(([name, value]) => `${name}: ${value}\r\n`);
    this.#request = `POST ${PATHS[SHAPE.client]} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
    const address = { host: '127.0.0.1', port: Number(port) };
    this.#sockets = Array.from({ length: STREAMS }, () => (secure ? connectSecurely(address) : connect(address)));
    for (const socket of this.#sockets) socket.setNoDelay(true).on('data', (bytes: Buffer) => this.#take(bytes));
  }

  open(): void {
    for (const socket of this.#sockets) socket.write(this.#request);
  }

  arrived(): Promise<void> {
    this.#missing = STREAMS;
    return new Promise((resolve) => {
      this.#allArrived = resolve;
    });
  }

  ended(): Promise<void> {
    this.#unended = STREAMS;
    return new Promise((resolve) => {
      this.#allEnded = resolve;
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #take(bytes: Buffer): void {
    for (let at = bytes.indexOf(MARK_BYTE); at !== -1; at = bytes.indexOf(MARK_BYTE, at + 1)) {
      if (--this.#missing === 0) this.#allArrived();
    }
    if (bytes.toString('latin1', bytes.length - TERMINATOR.length) !== TERMINATOR) return;
    if (--this.#unended === 0) this.#allEnded();
  }
}

/** Microseconds of CPU per chunk. */
async function visit(peer: RunningPeer, upstream: Upstream, clients: Clients): Promise<number> {
  const opened = upstream.opened();
  clients.open();
  await opened;
  const pid = peer.child?.pid ?? -1;
  let before = 0;
  for (const [wave, chunk] of CHUNKS.entries()) {
    // The first ones still belong to the opening.
    if (wave === 2) before = treeUse(pid).cpuNs;
    const arrived = clients.arrived();
    for (const stream of upstream.streams) stream.write(chunk);
    await arrived;
  }
  const cpuNs = treeUse(pid).cpuNs - before;
  const ended = clients.ended();
  for (const stream of upstream.streams) stream.end(CLOSING);
  await ended;
  return cpuNs / 1_000 / STREAMS / (WAVES - 2);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      peers: { type: 'string', default: 'bare,bare again,gateway' },
      rounds: { type: 'string', default: '20' },
      tls: { type: 'boolean', default: false },
    },
  });
  const names = values.peers.split(',');
  const adapters = names.map((name): Adapter => {
    const adapter = ADAPTERS.find((one) => one.name === name) ?? gatewayOfCheckout(name);
    if (!adapter) throw new Error(`no peer ${name}`);
    return adapter;
  });
  const placement = findPlacement();
  if (placement.pinned) spawnSync('taskset', ['-acp', '1', String(process.pid)]);
  const folder = mkdtempSync(join(tmpdir(), 'bench-chunks-'));
  const tls = values.tls ? makeTlsFiles(folder) : null;
  const upstream = new Upstream(tls);
  const port = await freePort();
  upstream.server.listen({ port, host: '127.0.0.1', backlog: 4096 });
  await once(upstream.server, 'listening');
  const upstreamOrigin = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  const runs: { peer: RunningPeer; clients: Clients; us: Map<number, number> }[] = [];
  try {
    for (const adapter of adapters) {
      const own = { upstreamOrigin, tls, folder: mkdtempSync(join(folder, 'peer-')), shapes: [SHAPE], keys: 1 };
      const peer = await startPeer(adapter, placement, own);
      runs.push({ peer, clients: new Clients(peer, tls !== null), us: new Map() });
    }
    for (let round = -WARM_UP_VISITS; round < Number(values.rounds); round++) {
      for (const { peer, clients, us } of round % 2 === 0 ? runs : runs.toReversed()) {
        const found = await visit(peer, upstream, clients);
        if (round >= 0) us.set(round, found);
      }
    }
    for (const { peer, us } of runs) {
      const cpu = bootstrapMedian([...us.values()]);
      const ratio = pairedRatio(us, runs[0]?.us ?? us);
      const shown = `[${ratio?.low.toFixed(2)}, ${ratio?.high.toFixed(2)}]`;
      console.log(`${peer.name}: ${cpu?.median.toFixed(1)} us per chunk; ${ratio?.median.toFixed(2)} ${shown}`);
    }
  } finally {
    for (const { clients } of runs) clients.close();
    await Promise.all(runs.map(({ peer }) => peer.stop()));
    upstream.server.closeAllConnections();
    upstream.server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
