import { Agent, MemorySession, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { expect, Seen, SUNNY, serve, versionOf, WEATHER } from './protocol.mjs';

setTracingDisabled(true);

async function ended(runner, agent, input, stream, session) {
  const result = await runner.run(agent, input, { stream, session });
  if (stream) await result.completed;
  return result;
}

const cases = {};
for (const useResponses of [true, false]) {
  const route = useResponses ? 'responses' : 'chat';
  const start = ({ key, baseUrl, model }, withTool) => {
    const modelProvider = new OpenAIProvider({ apiKey: key, baseURL: baseUrl, useResponses });
    const weather = tool({ ...WEATHER, strict: true, execute: async () => SUNNY });
    return [new Runner({ modelProvider }), new Agent({ name: 'A', model, tools: withTool ? [weather] : [] })];
  };
  cases[`${route}: text`] = {
    route,
    async run(task) {
      const [runner, agent] = start(task, false);
      const { runContext } = await ended(runner, agent, task.text, task.stream);
      return new Seen().usage(runContext.usage);
    },
  };
  cases[`${route}: tools and a session of two turns`] = {
    route,
    async run(task) {
      const [runner, agent] = start(task, true);
      const session = new MemorySession();
      const first = await ended(runner, agent, 'the weather, please [[tool=2]]', task.stream, session);
      expect(first.finalOutput.includes('sunny'), 'the answer to the tool results');
      const second = await ended(runner, agent, 'and tomorrow?', task.stream, session);
      const seen = new Seen();
      for (const { runContext } of [first, second]) seen.usage(runContext.usage);
      return seen;
    },
  };
}
await serve('OpenAI Agents (JavaScript)', versionOf('@openai/agents'), cases);
