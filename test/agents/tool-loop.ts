/**
 * One agent does a tool loop (read two files at once, edit one, run a command) through a started gateway, on an upstream
 * whose model is a script. What the upstream saw, what is in the folder and what the ledger charged must agree.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import type { RequestRecord } from '../../src/core/request-record.ts';
import { inputTokens, totalTokens } from '../../src/core/usage.ts';
import { auditClean } from '../support/requests.ts';
import { type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { runAgent } from './agents.ts';
import type { Conversation } from './conversation.ts';
import { closedOutside } from './outside.ts';
import { type Ended, failureOf } from './processes.ts';
import { AFTER, BEFORE, FILE, FINAL, OTHER, OTHER_FILE, PROOF, type Scenario } from './scenarios.ts';
import { callId, offered, ScriptedUpstream, type Step, signatureOf, TOKENS } from './scripted-upstream.ts';
import { type Agent, agentOf, assertStaysHere } from './set-ups.ts';

const PRICE = { input: 1, output: 4 };
const PROMPT = `Make the colour in ${FILE} blue, and prove it.`;

/** YAML is a superset of JSON. */
export function configText({ model, upstream: format }: Pick<Scenario, 'model' | 'upstream'>, origin: string): string {
  const provider =
    format === 'messages'
      ? { kind: 'anthropic', base_url: origin, count_tokens: false }
      : { kind: 'openai', base_url: `${origin}/v1` };
  return JSON.stringify({
    providers: { scripted: { ...provider, api_key: 'sk-scripted', formats: [format] } },
    models: [
      {
        id: model,
        targets: [{ provider: 'scripted', model: 'upstream-model', format }],
        context_window: 400_000,
        max_output_tokens: 64_000,
        pricing: PRICE,
      },
    ],
    sandbox: false,
    limits: { drain: 1 },
  });
}

/** What the upstream saw of the loop is what the agent and the model said to each other. */
function checkLoop(scenario: Scenario, upstream: ScriptedUpstream, folder: string): void {
  const { upstream: format, tools: needed } = scenario;
  const script = scenario.script(folder);
  assert.deepEqual(upstream.surprises, []);
  assert.equal(upstream.seen.length, script.length, 'one request for each step, none repeated');
  const made: string[] = [];
  const signed: string[] = [];
  for (const [at, conversation] of upstream.seen.entries()) {
    for (const name of needed) {
      const tool = offered(conversation.tools, name);
      assert.ok(tool !== undefined, `step ${at}: ${name} is offered`);
      assert.ok(tool.description.length > 20, `step ${at}: ${name} has its description`);
      const properties = (tool.schema as { properties?: object } | null)?.properties;
      if (tool.schema !== null) assert.ok(Object.keys(properties ?? {}).length > 0, `step ${at}: ${name} has a schema`);
    }
    assert.ok(conversation.said.includes(PROMPT), `step ${at}: the user's prompt`);
    assert.ok(conversation.said.length > 1_000, `step ${at}: the agent's instructions`);
    assert.deepEqual(conversation.calls, made, `step ${at}: every call so far, with its own id`);
    const answered = conversation.results.map((result) => result.callId);
    assert.deepEqual(answered.toSorted(), made.toSorted(), `step ${at}: every call is answered, in any order`);
    if (format !== 'chat') assert.deepEqual(conversation.thoughts, signed, `step ${at}: thoughts come back unchanged`);
    made.push(...(script[at]?.calls ?? []).map((_, index) => callId(format, at, index)));
    if (conversation.wantsThoughts) signed.push(signatureOf(at));
  }
  checkResults(scenario, script, upstream.seen);
}

function checkResults(
  { upstream: format, found }: Scenario,
  script: readonly Step[],
  seen: readonly Conversation[],
): void {
  const [first, last] = [seen.at(0), seen.at(-1)];
  for (const [at, { calls }] of script.entries()) {
    for (const [index, call] of calls.entries()) {
      const id = callId(format, at, index);
      const heard = last?.results.find((result) => result.callId === id)?.text ?? '';
      assert.match(heard, call.result, `step ${at}: the result of ${call.tool}`);
    }
  }
  if (found === undefined) return;
  assert.equal(offered(first?.tools ?? [], found), undefined, `${found} is not offered before it was found`);
  assert.ok(offered(last?.tools ?? [], found), `${found} is offered once it was found`);
}

async function checkFolder(folder: string): Promise<void> {
  assert.equal(await readFile(join(folder, FILE), 'utf8'), AFTER);
  assert.equal(await readFile(join(folder, PROOF), 'utf8').catch(() => 'no file'), AFTER);
}

export async function checkBooks(gateway: StartedGateway, key: CreatedKey, answers: number): Promise<void> {
  const view = await gateway.admin.showKey(key.id);
  const each = (inputTokens(TOKENS) * PRICE.input + TOKENS.output * PRICE.output) / 1_000_000;
  assert.equal(view.requests, answers, 'one usage record for each answer');
  const charge = view.mode === 'credit' ? each : totalTokens(TOKENS);
  assert.equal(view.used.toFixed(9), (charge * answers).toFixed(9), 'the exact charge');
  assert.equal(view.input_tokens, inputTokens(TOKENS) * answers);
  assert.equal(view.output_tokens, TOKENS.output * answers);
  await auditClean(gateway);
}

/** What stands before the gateway: told its origin, it says how the agent must be told an address there. */
export type Before = (origin: string) => Promise<(address: string) => string>;

/** Throws what is not as it must be; what the agent printed is in its cause. */
export async function playLoop(scenario: Scenario, installed: string, before?: Before): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'gateway-agents-'));
  const [home, folder] = [join(root, 'home'), join(root, 'work')];
  await Promise.all([mkdir(home), mkdir(folder)]);
  await Promise.all([writeFile(join(folder, FILE), BEFORE), writeFile(join(folder, OTHER_FILE), OTHER)]);
  const upstream = await ScriptedUpstream.start(scenario.script(folder));
  const agent: Agent = agentOf(scenario.agent);
  let ended: Ended | null = null;
  try {
    const requests: RequestRecord[] = [];
    const observer = { started: () => {}, finished: (record: RequestRecord) => void requests.push(record) };
    const config = configText(scenario, upstream.origin);
    await using gateway = await startedGateway({ config, observers: [observer] });
    await using outside = await closedOutside();
    const { model, mode, webSocket } = scenario;
    const key = mode === 'credit' ? await gateway.creditKey() : await gateway.tokenKey();
    const { proxy } = outside;
    const through = (await before?.(gateway.origin)) ?? ((address: string) => address);
    const [origin, baseUrl] = [through(key.origin), through(key.base_url)];
    const place = { installed, home, workFolder: folder, key: key.key, origin, baseUrl, model, prompt: PROMPT };
    ended = await runAgent(agent, { ...place, proxy, webSocket });
    assert.equal(ended.code, 0, 'the exit code');
    assert.ok(agent.shown(ended.stdout, ended.stderr).includes(FINAL), 'the final text is shown');
    await checkFolder(folder);
    checkLoop(scenario, upstream, folder);
    await checkBooks(gateway, key, upstream.answers);
    const generated = requests.filter(({ settlement }) => settlement !== null);
    assert.ok(
      generated.every((request) => request.webSocket === (webSocket ?? false)),
      'the way that it was told to go',
    );
    assertStaysHere(agent, outside.asked);
  } catch (error) {
    throw failureOf(error, ended);
  } finally {
    await upstream.close();
    await rm(root, { recursive: true, force: true });
  }
}
