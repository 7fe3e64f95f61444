/** kill -9 under load, restart at once: the books are right, and every answer that a client saw complete is charged once. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { gatewayProcess } from '../../support/gateway-process.ts';
import { SocketClient } from '../../support/socket-client.ts';
import { call } from '../../support/started-gateway.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const CLIENTS = 40;
/** 1 and 4 USD per million tokens: nanos per token. */
const INPUT_NANOS = 1_000;
const OUTPUT_NANOS = 4_000;
/** Of a stream that is killed: at 10 ms each it lasts a minute, so none has ended when the slowest client is where it should be. */
const LONG_TOKENS = 6_000;

const dataDir = temporaryFolder('gateway-crash');
before(async () => {
  await writeFile(join(dataDir, 'gateway.yaml'), 'sandbox: true\n');
});

interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** Null when the client did not see the answer complete. */
async function wholeAnswer(origin: string, key: string, index: number): Promise<ChatUsage | null> {
  const body = { model: 'sandbox/alpha', messages: [{ role: 'user', content: `[[tokens=10]] ${index}` }] };
  const response = await call(`${origin}/v1/chat/completions`, { key, body });
  assert.equal(response.status, 200);
  return ((await response.json()) as { usage: ChatUsage }).usage;
}

async function streamedAnswer(
  origin: string,
  key: string,
  tokens: number,
  onFrames: (frames: number) => void,
): Promise<ChatUsage | null> {
  const body = {
    model: 'sandbox/alpha',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: `[[tokens=${tokens}]] [[delay=10]]` }],
  };
  const response = await call(`${origin}/v1/chat/completions`, { key, body });
  assert.equal(response.status, 200);
  let text = '';
  let frames = 0;
  let begun = '';
  for await (const chunk of response.body ?? []) {
    const piece = Buffer.from(chunk).toString();
    text += piece;
    const parts = (begun + piece).split('\n\n');
    begun = parts.pop() ?? '';
    frames += parts.length;
    onFrames(frames);
  }
  if (!text.includes('data: [DONE]')) return null;
  const usage = /"usage":(\{"prompt_tokens".*?\}\})/.exec(text)?.[1];
  return usage === undefined ? null : (JSON.parse(usage) as ChatUsage);
}

test('[F1] [F2] [F3] [F37] kill -9 under load: no answer seen complete is uncharged, nothing is charged twice', async () => {
  const first = await gatewayProcess(dataDir);
  const { accounts } = first.admin;
  const root = await accounts.create({ name: 'root' });
  await accounts.addCredit(root.id, { amount: String(CLIENTS) });
  const team = await accounts.create({ name: 'team', parent: root.id });
  // Some of the keys belong to accounts, whose sums must be right at every level.
  const payer = (index: number) => (index % 4 < 2 ? { credit: '1' } : { account: index % 8 < 4 ? team.id : root.id });
  const keys = await Promise.all(
    Array.from({ length: CLIENTS }, (_, index) => first.admin.createKey({ mode: 'credit', ...payer(index) })),
  );
  const seen = new Map<string, ChatUsage>();
  const streaming = new Set<number>();
  let allStream: () => void = () => {};
  const allStreaming = new Promise<void>((resolve) => {
    allStream = resolve;
  });
  const clients = keys.map(async (key, index) => {
    try {
      // Half of the clients ask again and again for whole answers, half hold a long stream; each has its own key.
      const usage =
        index % 2 === 0
          ? await wholeAnswer(first.origin, key.key, index)
          : await streamedAnswer(first.origin, key.key, LONG_TOKENS, (frames) => {
              // At 10 ms a frame, a stream this far has lived through several intervals of marks.
              if (frames >= 300) streaming.add(index);
              if (streaming.size === CLIENTS / 2) allStream();
            });
      if (usage) seen.set(key.id, usage);
    } catch (error) {
      assert.ok(error instanceof TypeError, String(error));
    }
  });
  await Promise.all([allStreaming, ...clients.filter((_, index) => index % 2 === 0)]);
  await first.kill('SIGKILL');
  await Promise.all(clients);
  assert.ok(seen.size >= CLIENTS / 2, 'the whole answers were all seen');

  const second = await gatewayProcess(dataDir);
  try {
    const audit = await second.admin.audit();
    assert.deepEqual(audit.findings, []);
    assert.equal(audit.live_holds, 0);
    const views = new Map((await second.admin.listKeys()).map((view) => [view.id, view]));
    let recovered = 0;
    for (const [index, key] of keys.entries()) {
      const usage = seen.get(key.id);
      const spent = Math.round((views.get(key.id)?.used ?? Number.NaN) * 1e9);
      if (usage) {
        assert.equal(spent, usage.prompt_tokens * INPUT_NANOS + usage.completion_tokens * OUTPUT_NANOS, `key ${index}`);
        continue;
      }
      // Killed in the middle: the last mark was charged, once, and the rest is free again.
      if (spent > 0) recovered += 1;
      assert.ok(spent <= LONG_TOKENS * OUTPUT_NANOS + 1_000 * INPUT_NANOS, `key ${index} was charged ${spent}`);
    }
    assert.ok(recovered > 0, 'streams that had been marked are charged by their marks');
    const spentBy = (ids: readonly string[]): number =>
      keys.reduce((sum, { id, account }) => sum + (ids.includes(account ?? '') ? (views.get(id)?.used ?? 0) : 0), 0);
    const [teamNow, rootNow] = [await second.admin.accounts.show(team.id), await second.admin.accounts.show(root.id)];
    const nanos = (credits: number): number => Math.round(credits * 1e9);
    assert.deepEqual([nanos(teamNow.used), teamNow.reserved], [nanos(spentBy([team.id])), 0]);
    assert.deepEqual([nanos(rootNow.used), rootNow.reserved], [nanos(spentBy([team.id, root.id])), 0]);
    assert.ok(rootNow.used > teamNow.used && teamNow.used > 0);
  } finally {
    await second.kill('SIGTERM');
  }
});

test('[F9] SIGTERM: no new work, the running stream finishes and is charged', async () => {
  const gateway = await gatewayProcess(dataDir);
  const key = await gateway.admin.createKey({ mode: 'credit', credit: '1' });
  let begun: () => void = () => {};
  const streaming = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const client = streamedAnswer(gateway.origin, key.key, 60, () => begun());
  await streaming;
  const ended = gateway.kill('SIGTERM');
  const usage = await client;
  assert.equal(usage?.completion_tokens, 60);
  await ended;
  assert.equal(gateway.child.exitCode, 0);
});

test('[R80] [F2] kill -9 in the middle of responses over WebSockets: each is charged once, by its last mark', async () => {
  const first = await gatewayProcess(dataDir);
  const keys = [
    await first.admin.createKey({ mode: 'credit', credit: '1' }),
    await first.admin.createKey({ mode: 'token_budget', budget: '1000000' }),
  ];
  const usages = await Promise.all(
    keys.map(async (key) => {
      const client = await SocketClient.open(key);
      // One that is complete, and one that never will be.
      const { usage } = await client.create('[[tokens=10]] Hello').completed();
      client.create(`[[tokens=${LONG_TOKENS}]] [[delay=10]]`);
      for (let deltas = 0; deltas < 300; ) if ((await client.next()).delta !== undefined) deltas += 1;
      return usage;
    }),
  );
  await first.kill('SIGKILL');

  const second = await gatewayProcess(dataDir);
  try {
    const audit = await second.admin.audit();
    assert.deepEqual([audit.findings, audit.live_holds], [[], 0]);
    for (const [index, { id, mode }] of keys.entries()) {
      const { used, requests } = await second.admin.showKey(id);
      const { input_tokens: input = 0, output_tokens: output = 0 } = usages[index] ?? {};
      const nanos = mode === 'credit' ? [INPUT_NANOS, OUTPUT_NANOS] : [1, 1];
      const complete = input * (nanos[0] ?? 0) + output * (nanos[1] ?? 0);
      const charged = mode === 'credit' ? Math.round(used * 1e9) : used;
      assert.ok(charged > complete + 100 * (nanos[1] ?? 0), `${mode}: the second one was marked, and charged`);
      assert.ok(charged <= complete + LONG_TOKENS * (nanos[1] ?? 0) + 1_000 * (nanos[0] ?? 0), `${mode}: once`);
      assert.equal(requests, 2);
    }
  } finally {
    await second.kill('SIGTERM');
  }
});
