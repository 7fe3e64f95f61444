/** What every client does, and what goes wrong for it. */
import type { CreatedKey } from '../src/admin/keys/schema.ts';
import type { StartedGateway } from '../test/support/started-gateway.ts';
import type { Announcement, ClientProgram, StreamMode, Task } from './client-program.ts';
import { FAULTS, faultyKey } from './faults.ts';
import { settled, unlikeBooks } from './ledger.ts';
import { laneOf, MODELS, type TriedModel } from './models.ts';

export interface Row {
  readonly client: string;
  readonly version: string;
  readonly what: string;
  readonly route: string;
  /** By the model: `native` where its provider speaks the format of the route. */
  readonly lane: 'native' | 'translated';
  readonly provider: TriedModel['provider'];
  readonly mode: StreamMode;
  /** Null where it passed. */
  readonly problem: string | null;
  /** A difference that is the client's own. */
  readonly note?: string | undefined;
  /** Why it was not run, where it was not. */
  readonly notRun?: string | undefined;
}

/** What the user of a client sees when something is wrong. */
export interface Sight {
  readonly client: string;
  readonly fault: string;
  readonly message: string;
  readonly problem: string | null;
  /** How many requests the client made of it, where that was counted. */
  readonly requests?: number | undefined;
  /** What the client makes of it that is its own doing. */
  readonly note?: string | undefined;
}

/** Where a client shows other figures than it was sent, and why: such a scenario passes with a note. */
const KNOWN: readonly (Pick<Row, 'client' | 'route' | 'lane' | 'mode'> & {
  /** Every provider's, where there is none. */
  readonly provider?: Row['provider'];
  readonly note: string;
})[] = [
  {
    client: 'LangChain (JavaScript)',
    route: 'messages',
    lane: 'translated',
    mode: 'streamed',
    note: 'shows the input tokens of `message_start`, an estimate here, instead of those of `message_delta` ([its reading of streams](https://github.com/langchain-ai/langchainjs/blob/main/libs/providers/langchain-anthropic/src/utils/message_outputs.ts))',
  },
  {
    client: 'LangChain (JavaScript)',
    route: 'messages',
    lane: 'native',
    provider: 'aimock',
    mode: 'streamed',
    note: 'adds the output tokens of `message_start` to those of `message_delta`, which are the whole ([its reading of streams](https://github.com/langchain-ai/langchainjs/blob/main/libs/providers/langchain-anthropic/src/utils/message_outputs.ts))',
  },
  {
    client: 'LangChain (Python)',
    route: 'messages',
    lane: 'native',
    provider: 'aimock',
    mode: 'streamed',
    note: 'shows the usage of `message_delta` only, which has no input tokens here ([its reading of streams](https://github.com/langchain-ai/langchain/blob/master/libs/partners/anthropic/langchain_anthropic/chat_models.py))',
  },
];
const TEXT = 'Tell me something. [[tokens=25]]';

function taskOf(name: string, key: CreatedKey, rest: Partial<Task> = {}): Task {
  const { origin, base_url: baseUrl } = key;
  return { case: name, key: key.key, origin, baseUrl, model: 'sandbox/alpha', text: TEXT, stream: false, ...rest };
}

/** Every case of a client: all models, whole and streamed, at both origins. One row for both origins. */
export async function playCases(
  gateway: StartedGateway,
  program: ClientProgram,
  { client, version, cases }: Announcement,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name: what, route, modes, provider } of cases) {
    for (const model of MODELS.filter((one) => (provider ?? one.provider) === one.provider)) {
      for (const mode of modes) {
        const problems: string[] = [];
        for (const key of [await gateway.creditKey(), await gateway.tokenKey()]) {
          const answer = await program.run(taskOf(what, key, { model: model.id, stream: mode === 'streamed' }));
          const problem = answer.ok ? await unlikeBooks(gateway, key, answer) : `${answer.name}: ${answer.message}`;
          if (problem !== null) problems.push(`${key.mode}: ${problem}`);
        }
        const lane = laneOf(route, model);
        const known = KNOWN.find(
          (one) =>
            one.client === client &&
            one.route === route &&
            one.lane === lane &&
            one.mode === mode &&
            (one.provider ?? model.provider) === model.provider,
        );
        const isKnown = known !== undefined && problems.every((problem) => problem.includes('the client saw'));
        const problem = problems.length === 0 || isKnown ? null : problems.join('; ');
        const note = problems.length > 0 && isKnown ? known.note : undefined;
        rows.push({ client, version, what, route, lane, provider: model.provider, mode, problem, note });
      }
    }
  }
  return rows;
}

/** By the client's first case, whole. Nothing may be charged, and one sentence must say what is wrong. */
export async function playFaults(
  gateway: StartedGateway,
  program: ClientProgram,
  { client, cases }: Announcement,
): Promise<Sight[]> {
  const sights: Sight[] = [];
  const [first] = cases;
  for (const fault of first === undefined ? [] : FAULTS) {
    const key = await faultyKey(gateway, fault);
    const answer = await program.run(taskOf(first?.name ?? '', key, fault.task(key)));
    const message = answer.ok ? '' : answer.message;
    const { used, live_holds } = await settled(gateway, key);
    const problem = answer.ok
      ? 'no error was raised'
      : !fault.words.test(message)
        ? 'the message does not say what is wrong'
        : used !== 0 || live_holds !== 0
          ? `${used} was charged, ${live_holds} holds are left`
          : null;
    sights.push({ client, fault: fault.name, message, problem });
  }
  return sights;
}
