/**
 * The bystander, in a thread of its own so that the work of the attackers does not delay it: its provider, and a client that sends one small
 * request after the other.
 */
import { once } from 'node:events';
import { createServer, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { SPEECH } from '../support/upstreams/spoken.ts';
import type { BystanderOrder, BystanderReport, Waits } from './bystander.ts';

const PAUSE_MS = 10;
const ASK_WITHIN_MS = 60_000;
/** Another address of this machine than the attackers', where the system has one. */
const LOCAL_ADDRESS = process.platform === 'linux' ? { localAddress: '127.0.0.2' } : {};

const port = parentPort;
if (port === null) throw new Error('this is a thread');
const tell = (report: BystanderReport): void => port.postMessage(report);

const answer = JSON.stringify(SPEECH.chat.whole('Hello.'));
const provider = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer);
  });
});
provider.keepAliveTimeout = 60_000;
provider.listen(0, '127.0.0.1');
await once(provider, 'listening');

let waits: Waits = { ms: [], faults: [], served: 0 };
let asking = false;
let over = false;
let asked: Promise<void> = Promise.resolve();

port.on('message', (order: BystanderOrder) => {
  if (order.kind === 'ask') {
    asking = true;
    asked = askOn(order.origin, order.key, order.model);
  } else if (order.kind === 'report') {
    tell({ kind: 'waits', waits });
    waits = { ms: [], faults: [], served: 0 };
  } else {
    over = true;
    void asked.then(() => {
      tell({ kind: 'waits', waits });
      provider.close();
      provider.closeAllConnections();
      port.close();
    });
  }
});
tell({ kind: 'listening', port: (provider.address() as AddressInfo).port });

async function askOn(origin: string, key: string, model: string): Promise<void> {
  const secure = origin.startsWith('https:');
  const pool = { keepAlive: true, maxSockets: 1 };
  const agent = secure ? new HttpsAgent({ ...pool, rejectUnauthorized: false }) : new HttpAgent(pool);
  const body = JSON.stringify(SPEECH.chat.request({ model, max_tokens: 16 }));
  while (asking && !over) {
    const sentMs = performance.now();
    const fault = await askOnce(`${origin}/v1/chat/completions`, secure, agent, key, body);
    if (fault === null) waits.served += 1;
    // What came after the end was ordered says nothing about the time before it.
    else if (!over) waits.faults.push(fault);
    waits.ms.push(performance.now() - sentMs);
    await delay(PAUSE_MS);
  }
  agent.destroy();
}

/** Null where it was served. */
function askOnce(url: string, secure: boolean, agent: HttpAgent, key: string, body: string): Promise<string | null> {
  return new Promise((done) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const options = { method: 'POST', agent, headers, ...LOCAL_ADDRESS, signal: AbortSignal.timeout(ASK_WITHIN_MS) };
    const request = (secure ? httpsRequest : httpRequest)(url, options, (response) => {
      response.resume();
      response.once('error', (error) => done(error.message));
      response.once('end', () => done(response.statusCode === 200 ? null : `status ${response.statusCode}`));
    });
    request.once('error', (error) => done(error.message));
    request.end(body);
  });
}
