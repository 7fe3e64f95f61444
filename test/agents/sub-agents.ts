/**
 * Eight Claude Codes at once, as a session starts sub-agents, on one key with 1.2 credits at the prices of Claude Sonnet, and a model that
 * thinks unseen for 20 s per answer. None may be refused for its balance, and each answer is charged exactly. `npm run agents -- sub-agents`
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TokenCounts } from '../../src/core/usage.ts';
import { startPostgres } from '../support/postgres.ts';
import { RecordedRequests } from '../support/recorded-requests.ts';
import { accountWhen, auditClean } from '../support/requests.ts';
import { type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { runAgent } from './agents.ts';
import { closedOutside } from './outside.ts';
import type { Ended } from './processes.ts';
import { AGENTS } from './set-ups.ts';
import { FINAL, QUICKLY, ThinkingUpstream } from './thinking-upstream.ts';

const SUB_AGENTS = 8;
/** 0.15 for each: an exact count of its input, the first slice, and what the model can think in 20 s come to a little less. */
const CREDIT = '1.2';
const MODEL = 'claude-sonnet-4-6';
const PRICE = { input: 3, output: 15 };
/** In tokens per second; the scripted model makes 45. */
const OUTPUT_SPEED = 60;
/** So many complete streams of a target tell its speed. */
const STREAMS_BEFORE = 50;
const AT_ONCE = 10;
const SECRET = 'an installation secret for tests only';

export interface SubAgentsCase {
  readonly engine: 'sqlite' | 'postgres';
  /** Whether the speed of the model is configured, or known from the streams before. */
  readonly speed: 'configured' | 'measured';
}

export const SUB_AGENTS_CASES: readonly SubAgentsCase[] = (['sqlite', 'postgres'] as const).flatMap((engine) =>
  (['configured', 'measured'] as const).map((speed) => ({ engine, speed })),
);

function configText(origin: string, speed: SubAgentsCase['speed']): string {
  return JSON.stringify({
    providers: { scripted: { kind: 'anthropic', base_url: origin, count_tokens: false, api_key: 'sk-scripted' } },
    models: [
      {
        id: MODEL,
        targets: [{ provider: 'scripted', model: MODEL }],
        context_window: 200_000,
        max_output_tokens: 64_000,
        pricing: PRICE,
        ...(speed === 'configured' ? { output_speed: OUTPUT_SPEED } : {}),
      },
    ],
    sandbox: false,
    model_lists: false,
    // The counter may be slow on a machine that runs eight agents.
    limits: { drain: 1, count_wait: 60 },
  });
}

/** Of a provider, in nanos of a credit. */
function costOf(all: readonly TokenCounts[]): number {
  const microCredits = all.reduce((sum, { input, output }) => sum + input * PRICE.input + output * PRICE.output, 0);
  return Math.round(microCredits * 1_000);
}

/** Streams of somebody else, from which the gateway learns how fast the target is. */
async function streamBefore(gateway: StartedGateway): Promise<void> {
  const key = await gateway.creditKey({ credit: '1000' });
  const body = JSON.stringify({
    model: MODEL,
    max_tokens: 8_000,
    stream: true,
    thinking: { type: 'enabled', budget_tokens: 4_000 },
    messages: [{ role: 'user', content: QUICKLY }],
  });
  for (let left = STREAMS_BEFORE; left > 0; left -= AT_ONCE) {
    await Promise.all(
      Array.from({ length: Math.min(left, AT_ONCE) }, async () => {
        const response = await fetch(`${key.origin}/v1/messages`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
          body,
        });
        assert.match(await response.text(), /message_stop/);
      }),
    );
  }
}

/** What was seen, in a sentence. Throws what is not as it must be. */
export async function playSubAgents({ engine, speed }: SubAgentsCase, installed: string): Promise<string> {
  await using parts = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), 'gateway-sub-agents-'));
  parts.defer(() => rm(root, { recursive: true, force: true }));
  const workFolder = join(root, 'work');
  await mkdir(workFolder);
  const upstream = parts.use(await ThinkingUpstream.start());
  const env: Record<string, string> = {};
  if (engine === 'postgres') {
    const server = await startPostgres();
    parts.defer(() => server.stop());
    env.DATABASE_URL = server.url(await server.createDatabase());
    env.GATEWAY_SECRET = SECRET;
  }
  const recorded = new RecordedRequests();
  const config = configText(upstream.origin, speed);
  const gateway = parts.use(await startedGateway({ config, env, observers: [recorded] }));
  if (speed === 'measured') await streamBefore(gateway);
  const before = upstream.reported.length;

  const outside = parts.use(await closedOutside());
  const key = await gateway.creditKey({ credit: CREDIT });
  const ended = await Promise.all(
    Array.from({ length: SUB_AGENTS }, async (_none, index): Promise<Ended> => {
      const home = join(root, `home-${index}`);
      await mkdir(home);
      return runAgent(AGENTS.claude, {
        ...{ installed, home, workFolder, key: key.key, model: MODEL, proxy: outside.proxy },
        ...{ origin: key.origin, baseUrl: key.base_url, prompt: `You are sub-agent ${index}. Think it through.` },
      });
    }),
  );
  const own = recorded.ended.filter(({ keyId }) => keyId === key.id);
  const held = Math.max(0, ...own.map((record) => Number(record.held ?? 0))) / 1e9;
  const refused = own.filter(({ status }) => status === 402 || status === 429);
  const conditions = [...new Set(refused.map(({ condition }) => condition))].join(', ');
  const seen = `${own.length} requests, at most ${held} credits held for one`;
  assert.equal(refused.length, 0, `${refused.length} of ${seen}, were refused: ${conditions}`);
  for (const { code, stdout, stderr } of ended) {
    assert.equal(code, 0, `the exit code; ${stdout.slice(-500)} ${stderr.slice(-500)}`);
    assert.ok(AGENTS.claude.shown(stdout, stderr).includes(FINAL), 'the final text is shown');
  }
  assert.deepEqual(upstream.surprises, []);
  assert.ok(upstream.asked.thinking >= SUB_AGENTS, 'it is asked to think');
  const reported = upstream.reported.slice(before);
  const { used, requests } = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
  assert.equal(requests, reported.length, 'one usage record for each answer');
  assert.equal(Math.round(used * 1e9), costOf(reported), 'the exact charge');
  await auditClean(gateway);
  return `${reported.length} answers to ${seen}, ${used} of ${CREDIT} charged`;
}
