/** Clients under load, each request with a key of its own, so that what it was charged can be compared exactly. */

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey, KeyView } from '../../../src/admin/keys/schema.ts';
import type { AuditView } from '../../../src/admin/state/schema.ts';
import type { TestAdmin } from '../../support/admin-client.ts';

export const MODEL = 'far/alpha';
/** 1 and 4 USD per million tokens: nanos per token. */
const INPUT_NANOS = 1_000;
const OUTPUT_NANOS = 4_000;
const TOKENS = 150;
/** No prompt here has more tokens. */
const PROMPT_TOKENS_MAX = 200;
const CREDIT = '0.01';

/** A config file whose only provider answers at this port in the chat format. */
export function farProvider(port: number): string {
  return `
providers:
  far: { kind: openai, base_url: "http://127.0.0.1:${port}/v1", api_key: sk-far-0123456789, formats: [chat] }
models:
  - id: ${MODEL}
    targets: [{ provider: far, model: alpha-sim, format: chat }]
    context_window: 128000
    max_output_tokens: 1000
    pricing: { input: 1, output: 4 }
sandbox: false
routing: { max_attempts: 1 }
limits: { drain: 5, settle_wait: 300 }
`;
}

export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** In nanos. */
export function costOf({ prompt_tokens: prompt, completion_tokens: completion }: ChatUsage): number {
  return prompt * INPUT_NANOS + completion * OUTPUT_NANOS;
}

/** One request, and what its client saw of it. */
export interface Job {
  readonly key: CreatedKey;
  readonly streamed: boolean;
  /** A client that tries again with the same Idempotency-Key until it is told how it ended. */
  readonly persistent: boolean;
  /** The usage of a complete answer; null when the client saw none. */
  usage: ChatUsage | null;
  /** It was told that the request was charged and cannot be replayed. */
  refused: boolean;
  tries: number;
}

/** Every third key belongs to a tree of accounts of its own jobs, at one of its levels; the others pay for themselves. */
export async function newJobs(admin: TestAdmin, count: number): Promise<readonly Job[]> {
  const root = await admin.accounts.create({ name: 'root' });
  await admin.accounts.addCredit(root.id, { amount: String(Number(CREDIT) * count) });
  const team = await admin.accounts.create({ name: 'team', parent: root.id, credit_cap: '1/day' });
  const project = await admin.accounts.create({ name: 'project', parent: team.id, token_cap: '100000000/month' });
  const levels = [root.id, team.id, project.id];
  const payer = (index: number) =>
    index % 3 === 0 ? { account: levels[(index / 3) % levels.length] } : { credit: CREDIT };
  return Promise.all(
    Array.from({ length: count }, async (_, index) => ({
      key: await admin.createKey({ mode: 'credit', ...payer(index) }),
      streamed: index % 4 !== 0,
      persistent: index % 2 === 0,
      usage: null,
      refused: false,
      tries: 0,
    })),
  );
}

/** For what never comes. A gateway that was killed, or its database, may take long to be back on a busy machine. */
const TRY_MS = 240_000;

export class Load {
  readonly #origin: (job: number) => string;
  #frames = 0;
  readonly #waiting = new Set<() => void>();
  /** Resolves when every client has ended. */
  readonly ended: Promise<void>;

  /** Starts at once. `origin` says where the client of a job asks now. */
  constructor(jobs: readonly Job[], origin: (job: number) => string) {
    this.#origin = origin;
    this.ended = Promise.all(jobs.map((job, index) => this.#run(job, index))).then(() => undefined);
  }

  /** Resolves when the clients have seen this many frames in all, or have ended. */
  async frames(count: number): Promise<void> {
    let over = false;
    const ended = this.ended.then(() => {
      over = true;
    });
    while (this.#frames < count && !over) {
      await Promise.race([ended, new Promise<void>((resolve) => this.#waiting.add(resolve))]);
    }
  }

  async #run(job: Job, index: number): Promise<void> {
    for (const deadlineMs = Date.now() + TRY_MS; Date.now() < deadlineMs; await delay(100)) {
      job.tries += 1;
      const answered = await this.#ask(job, index);
      if (typeof answered === 'object') job.usage = answered;
      job.refused = answered === 'refused';
      if (answered !== 'broken' || !job.persistent) return;
    }
  }

  /** `refused`: told that there will be no answer. `broken`: anything else that is no complete answer. */
  async #ask(job: Job, index: number): Promise<ChatUsage | 'refused' | 'broken'> {
    const body = {
      model: MODEL,
      messages: [{ role: 'user', content: `[[tokens=${TOKENS}]] [[delay=10]]` }],
      ...(job.streamed ? { stream: true, stream_options: { include_usage: true } } : {}),
    };
    try {
      const response = await fetch(`${this.#origin(index)}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${job.key.key}`,
          ...(job.persistent ? { 'idempotency-key': 'once' } : {}),
        },
        body: JSON.stringify(body),
      });
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        this.#count();
      }
      if (response.status !== 200) return text.includes('"idempotency_conflict"') ? 'refused' : 'broken';
      return completeUsage(job, text) ?? 'broken';
    } catch (error) {
      // The connection broke: `fetch` says so by a TypeError.
      assert.ok(error instanceof TypeError, String(error));
      return 'broken';
    }
  }

  #count(): void {
    this.#frames += 1;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

function completeUsage(job: Job, text: string): ChatUsage | null {
  if (!job.streamed) return (JSON.parse(text) as { usage: ChatUsage }).usage;
  if (!text.includes('data: [DONE]')) return null;
  const usage = /"usage":(\{"prompt_tokens".*?\}\})/.exec(text)?.[1];
  return usage === undefined ? null : (JSON.parse(usage) as ChatUsage);
}

/**
 * When everything has come to its end: the audit is clean, every answer that a client saw complete is charged exactly
 * once, and no other request is charged more than it could have cost.
 */
export async function assertBooks(admin: TestAdmin, jobs: readonly Job[]): Promise<{ readonly complete: number }> {
  const audit = await settledAudit(admin);
  assert.deepEqual(audit.findings, []);
  const views = new Map((await admin.listKeys()).map((view) => [view.id, view]));
  let complete = 0;
  for (const [index, job] of jobs.entries()) {
    const view = views.get(job.key.id);
    assert.ok(view);
    assert.equal(view.reserved, 0);
    const spent = Math.round(view.used * 1e9);
    const what = `job ${index}, ${job.streamed ? 'streamed' : 'whole'}, ${job.tries} tries`;
    // Whoever goes on asking learns how it ended.
    assert.ok(job.usage !== null || job.refused || !job.persistent, what);
    if (job.usage === null) {
      assert.equal(job.refused && spent === 0, false, `${what} was told of a charge that there is not`);
      assert.ok(spent <= TOKENS * OUTPUT_NANOS + PROMPT_TOKENS_MAX * INPUT_NANOS, `${what} was charged ${spent}`);
      continue;
    }
    assert.ok(!job.refused);
    complete += 1;
    assert.equal(spent, costOf(job.usage), `${what} was seen complete`);
  }
  await assertLevels(admin, jobs, views);
  return { complete };
}

/** Each account has used what the keys at and below it have used, and nothing is held anywhere. */
async function assertLevels(
  admin: TestAdmin,
  jobs: readonly Job[],
  views: ReadonlyMap<string, KeyView>,
): Promise<void> {
  const accounts = await admin.accounts.list();
  const nanos = (credits: number): number => Math.round(credits * 1e9);
  const isBelow = (id: string | null | undefined, above: string): boolean =>
    id === above || (id != null && isBelow(accounts.find((account) => account.id === id)?.parent, above));
  const roots = new Set(jobs.flatMap(({ key }) => accounts.find(({ id }) => id === key.account)?.root ?? []));
  assert.equal(roots.size, 1);
  for (const account of accounts.filter(({ root }) => roots.has(root))) {
    const keys = jobs.flatMap(({ key }) => (isBelow(key.account, account.id) ? [views.get(key.id)] : []));
    const spent = keys.reduce((sum, view) => sum + nanos(view?.used ?? Number.NaN), 0);
    assert.deepEqual([nanos(account.used), account.reserved, account.live_holds], [spent, 0, 0], account.name);
  }
}

/** The audit once no hold is live any more. */
async function settledAudit(admin: TestAdmin): Promise<AuditView> {
  let audit = await admin.audit();
  for (const deadlineMs = Date.now() + 180_000; audit.live_holds > 0 && Date.now() < deadlineMs; await delay(100)) {
    audit = await admin.audit();
  }
  assert.equal(audit.live_holds, 0, 'every hold has ended');
  return audit;
}

export async function keyWhen(admin: TestAdmin, keyId: string, wanted: (view: KeyView) => boolean): Promise<KeyView> {
  for (const deadlineMs = Date.now() + 180_000; Date.now() < deadlineMs; await delay(50)) {
    const view = await admin.showKey(keyId);
    if (wanted(view)) return view;
  }
  throw new Error(`key ${keyId} never got there: ${JSON.stringify(await admin.showKey(keyId))}`);
}

/** Returns when the condition holds, or after a while that is long enough for everything here; what follows tells which. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const deadlineMs = Date.now() + 180_000; Date.now() < deadlineMs; await delay(50)) if (await holds()) return;
}
