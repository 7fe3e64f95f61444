/**
 * The real agents do a tool loop (read two files at once, edit one, run a command) through a started gateway, on upstreams
 * of every format. Heavier than a test, because the agents are installed: `npm run agents`.
 * Words after the command choose scenarios by their name.
 */
import { installAgents } from './agents.ts';
import { endGroupsOnSignals } from './processes.ts';
import { SCENARIOS } from './scenarios.ts';
import { AGENTS, agentOf } from './set-ups.ts';
import { playLoop } from './tool-loop.ts';

async function main(words: readonly string[]): Promise<void> {
  endGroupsOnSignals((signal) => console.log(`ended by ${signal}: what is not named above was not run`));
  const installed = await installAgents();
  const tally = { passed: 0, failed: 0 };
  for (const scenario of SCENARIOS) {
    const { title } = agentOf(scenario.agent);
    // Those of PyPI are played by `npm run e2e`, which installs them.
    if (!(scenario.agent in AGENTS)) continue;
    const name = `${title} (${scenario.model}) on ${scenario.upstream}: ${scenario.what}`;
    if (!words.every((word) => name.toLowerCase().includes(word.toLowerCase()))) continue;
    const startedMs = performance.now();
    try {
      await playLoop(scenario, installed);
      tally.passed += 1;
      console.log(`ok      ${name} (${Math.round(performance.now() - startedMs)} ms)`);
    } catch (error) {
      tally.failed += 1;
      const [message, printed] = error instanceof Error ? [error.message, error.cause ?? ''] : [String(error), ''];
      console.log(`${printed}\nFAILED  ${name}\n${message}`);
    }
  }
  console.log(`${tally.passed} passed, ${tally.failed} failed`);
  process.exitCode = tally.failed === 0 && tally.passed > 0 ? 0 : 1;
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`The agents could not be run: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
