/**
 * The real agents do a tool loop (read two files at once, edit one, run a command) through a started gateway, on upstreams
 * of every format, and sessions that become long: compacted, with tools that come on the way. Heavier than a test, because the agents are installed: `npm run agents`.
 * Words after the command choose scenarios by their name. `npm run agents -- sub-agents` runs eight of one agent at once instead.
 */
import { installAgents } from './agents.ts';
import { LONG_SESSIONS, playSession } from './long-sessions.ts';
import { endGroupsOnSignals } from './processes.ts';
import { SCENARIOS } from './scenarios.ts';
import { AGENTS, agentOf } from './set-ups.ts';
import { playSubAgents, SUB_AGENTS_CASES } from './sub-agents.ts';
import { playLoop } from './tool-loop.ts';

interface Tally {
  passed: number;
  failed: number;
}

async function main(words: readonly string[]): Promise<void> {
  endGroupsOnSignals((signal) => console.log(`ended by ${signal}: what is not named above was not run`));
  const installed = await installAgents();
  const tally: Tally = { passed: 0, failed: 0 };
  if (words[0] === 'sub-agents') await subAgents(tally, words.slice(1), installed);
  else await toolLoops(tally, words, installed);
  console.log(`${tally.passed} passed, ${tally.failed} failed`);
  process.exitCode = tally.failed === 0 && tally.passed > 0 ? 0 : 1;
}

async function subAgents(tally: Tally, words: readonly string[], installed: string): Promise<void> {
  for (const one of SUB_AGENTS_CASES) {
    const name = `eight Claude Codes at once on ${one.engine}, with the model's speed ${one.speed}`;
    if (isChosen(name, words)) await tallied(tally, name, () => playSubAgents(one, installed));
  }
}

async function toolLoops(tally: Tally, words: readonly string[], installed: string): Promise<void> {
  for (const scenario of SCENARIOS) {
    const { title } = agentOf(scenario.agent);
    // Those of PyPI are played by `npm run e2e`, which installs them.
    if (!(scenario.agent in AGENTS)) continue;
    const name = `${title} (${scenario.model}) on ${scenario.upstream}: ${scenario.what}`;
    if (isChosen(name, words)) await tallied(tally, name, () => playLoop(scenario, installed));
  }
  for (const session of LONG_SESSIONS) {
    const name = `${agentOf(session.agent).title} (${session.model}) on ${session.upstream}, a long session: ${session.what}`;
    if (isChosen(name, words)) await tallied(tally, name, () => playSession(session, installed));
  }
}

function isChosen(name: string, words: readonly string[]): boolean {
  return words.every((word) => name.toLowerCase().includes(word.toLowerCase()));
}

async function tallied(tally: Tally, name: string, play: () => Promise<unknown>): Promise<void> {
  const startedMs = performance.now();
  try {
    const seen = await play();
    tally.passed += 1;
    console.log(
      `ok      ${name} (${Math.round(performance.now() - startedMs)} ms)${typeof seen === 'string' ? `\n        ${seen}` : ''}`,
    );
  } catch (error) {
    tally.failed += 1;
    const [message, printed] = error instanceof Error ? [error.message, error.cause ?? ''] : [String(error), ''];
    console.log(`${printed}\nFAILED  ${name}\n${message}`);
  }
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`The agents could not be run: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
