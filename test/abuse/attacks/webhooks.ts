/** The webhook of one account never answers, while another account must be told of its own limits. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { certificateOfLocalhost } from '../../support/certificate.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL } from '../arena.ts';
import { send } from '../client.ts';
import type { Attack } from '../trial.ts';

const HANGING = 30;
/** Levels are looked up every 5 s; an attempt is given up after 15 s, so whoever waits behind one comes later than this. */
const TOLD_WITHIN_MS = 12_000;
const GIVEN_UP_MS = 14_000;
/** Half of it is used by two requests. */
const CAP = '0.0004';

const certificate = certificateOfLocalhost();

class Receiver implements AsyncDisposable {
  hanging = 0;
  readonly #told = new Set<string>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer(certificate, async (request, response) => {
      if (request.url === '/hangs') {
        this.hanging += 1;
        return;
      }
      const { data } = JSON.parse(await text(request)) as { data: { account?: string } };
      this.#told.add(String(data.account));
      response.writeHead(204).end();
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  url(path: string): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** After how long; null where it was not told at all. */
  async toldOf(account: string): Promise<number | null> {
    const sinceMs = performance.now();
    while (!this.#told.has(account)) {
      if (performance.now() - sinceMs > GIVEN_UP_MS) return null;
      await delay(20);
    }
    return performance.now() - sinceMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

/** An account below `root` that has used more than half of its cap. */
async function halfUsed(arena: Arena, root: string): Promise<string> {
  const { id } = await arena.gateway.admin.accounts.create({ name: 'team', parent: root, credit_cap: `${CAP}/none` });
  const key = await arena.key({ credit: undefined, account: id });
  const body = SPEECH.chat.request({ model: MODEL, max_tokens: 8 });
  for (let count = 0; count < 2; count++) {
    const { status } = await send(key, SPEECH.chat.path, body);
    if (status !== 200) throw new Error(`the account could not use what it has: ${status}`);
  }
  return id;
}

async function rootWith(arena: Arena, url: string): Promise<string> {
  const { accounts, alerts } = arena.gateway.admin;
  const { id } = await accounts.create({ name: 'root' });
  await accounts.addCredit(id, { amount: '100' });
  await alerts.setWebhook(id, { url });
  return id;
}

export const HANGING_WEBHOOKS: Attack = {
  name: 'webhooks that hang',
  tags: 'F45',
  settings: () => {
    const ca = join(temporaryFolder('gateway-abuse-ca'), 'ca.pem');
    writeFileSync(ca, certificate.cert);
    return { alerts: { accounts_allow_private: true, ca } };
  },
  run: async (arena) => {
    arena.provider.answer = (call) => call.reply(200, SPEECH.chat.whole('Hello.'));
    await using receiver = new Receiver();
    await receiver.start();
    const calm = await rootWith(arena, receiver.url('/answers'));
    const before = await receiver.toldOf(await halfUsed(arena, calm));
    const loud = await rootWith(arena, receiver.url('/hangs'));
    await Promise.all(Array.from({ length: HANGING }, () => halfUsed(arena, loud)));
    for (const untilMs = Date.now() + GIVEN_UP_MS; receiver.hanging === 0 && Date.now() < untilMs; ) await delay(20);
    const during = await receiver.toldOf(await halfUsed(arena, calm));
    const told = (ms: number | null): string => (ms === null ? 'not at all' : `after ${(ms / 1_000).toFixed(1)} s`);
    arena.figure(
      `an account was told ${told(before)}; beside ${HANGING} alerts of which ${receiver.hanging} hung, ${told(during)}`,
    );
    if (during === null || during > TOLD_WITHIN_MS)
      arena.fault(
        `beside webhooks that hang an account was told ${told(during)}, later than ${TOLD_WITHIN_MS / 1_000} s`,
      );
  },
};
