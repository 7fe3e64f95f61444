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

/** Long enough that it can be given up on the way. */
export const LONG = 'A long story. [[tokens=2000]] [[delay=20]]';

/** Long enough that it is not complete when its client has gone. */
export const SLOW = 'Tell me something. [[tokens=30]] [[delay=20]]';

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

/** The error that a call ends with. */
export async function failure(call) {
  return call.then(
    () => expect(false, 'an answer where an error is due'),
    (error) => error,
  );
}

/** What an SDK makes of errors: its classes, their request ids, and how often it asks. `ask(body, options)` is to fail. */
export async function checkErrors(sdk, ask) {
  const tried = async (body, options = {}) => {
    let count = 0;
    const counting = (...args) => {
      count += 1;
      return fetch(...args);
    };
    const error = await failure(ask(body, { fetch: counting, ...options }));
    expect(/^req_/.test(error.requestID), 'the request id of an error');
    return [error, count];
  };
  const [unknown, once] = await tried({ model: 'no/such' });
  expect(unknown instanceof sdk.NotFoundError && /not in the catalog/.test(unknown.message), 'NotFoundError');
  expect((await tried({ messages: [] }))[0] instanceof sdk.BadRequestError, 'BadRequestError');
  const [refused] = await tried({}, { apiKey: 'mg_c_wrong' });
  expect(refused instanceof sdk.AuthenticationError, 'AuthenticationError');
  const [down, often] = await tried({ messages: [{ role: 'user', content: 'Hello [[status=500]]' }] });
  expect(down instanceof sdk.InternalServerError, 'InternalServerError');
  expect(once === 1 && often === 3, `one request for what stays wrong, three for what may pass: ${once}, ${often}`);
}

/** Whole and given up before the answer; what aimock does not wait with may be there already. */
export async function checkAbort(sdk, task, ask) {
  const given = new AbortController();
  const asked = ask({ messages: [{ role: 'user', content: `${LONG} [[wait=300]]` }] }, { signal: given.signal });
  setTimeout(() => given.abort(), 150);
  const answer = await asked.catch((error) => error);
  expect(task.model.startsWith('foreign/') || answer instanceof sdk.APIUserAbortError, 'APIUserAbortError');
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** The runner stops the gateway and starts it again on its data, at the same address. */
export async function restarted() {
  say({ restart: true });
  await lines.next();
}

/**
 * `cases`: name → { route, modes, provider, restarts, run(task) }; with a provider it is for that one's models only, and
 * `restarts` where it asks for a restart. A task has the members `key`, `origin`, `baseUrl`, `model`, `text`, `stream`.
 */
export async function serve(client, version, cases) {
  say({
    client,
    version,
    cases: Object.entries(cases).map(([name, { route, modes = ['whole', 'streamed'], provider, restarts }]) => ({
      name,
      route,
      modes,
      provider,
      restarts,
    })),
  });
  for await (const line of lines) {
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
