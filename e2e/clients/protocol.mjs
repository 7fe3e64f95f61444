/**
 * How a client program talks with the runner: one JSON object a line. It says what it can do, then does one task after the
 * other and answers with the usage that it saw, or with what its user would see of a failure.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** The version of an installed package. */
export function versionOf(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

export const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};

/** What the tool says; the sandbox repeats it. */
export const SUNNY = 'sunny in the city';

/** Adds what each answer of a scenario reports. */
export class Seen {
  input = 0;
  output = 0;
  answers = 0;
  /** The client went before the end, so that it cannot know what it is charged. */
  isCut = false;

  cut() {
    this.isCut = true;
    return this;
  }

  add(input, output) {
    this.input += input;
    this.output += output;
    this.answers += 1;
    return this;
  }

  /** Usage in the words of any of the SDKs. */
  usage(usage) {
    const input = usage.prompt_tokens ?? usage.input_tokens ?? usage.inputTokens ?? usage.promptTokens;
    const output = usage.completion_tokens ?? usage.output_tokens ?? usage.outputTokens ?? usage.completionTokens;
    const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
    return this.add(input + cached, output);
  }
}

export function expect(condition, what) {
  if (!condition) throw new Error(`unexpected: ${what}`);
}

/** Counts the requests that an SDK really makes. */
export function counting() {
  const counted = { count: 0, fetch: undefined };
  counted.fetch = (...args) => {
    counted.count += 1;
    return fetch(...args);
  };
  return counted;
}

/** The error that a call ends with. */
export async function failure(call) {
  return call.then(
    () => expect(false, 'an answer where an error is due'),
    (error) => error,
  );
}

/**
 * `cases`: name → { route, modes, provider, run(task) }; with a provider it is for that one's models only. A task has the members `key`, `origin`, `baseUrl`, `model`, `text`, `stream`.
 */
export async function serve(client, version, cases) {
  const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
  say({
    client,
    version,
    cases: Object.entries(cases).map(([name, { route, modes = ['whole', 'streamed'], provider }]) => ({
      name,
      route,
      modes,
      provider,
    })),
  });
  for await (const line of createInterface({ input: process.stdin })) {
    const task = JSON.parse(line);
    try {
      const { input, output, answers, isCut } = await cases[task.case].run(task);
      say({ ok: true, input, output, answers, isCut });
    } catch (error) {
      say({ ok: false, name: error?.name ?? '', message: messageOf(error) });
    }
  }
}

/** What a program that prints the error shows. */
function messageOf(error) {
  const inner = error?.lastError ?? error?.cause;
  const own = String(error?.message ?? error);
  return inner?.message && !own.includes(inner.message) ? `${own} (${inner.message})` : own;
}
