/** Text that makes a careless scan take more than linear time, in a request and in the error of a provider. */
import { SPEECH } from '../../support/upstreams/spoken.ts';
import { type Arena, MODEL } from '../arena.ts';
import { errorCode, send } from '../client.ts';
import { type Attack, summed } from '../trial.ts';

/** The shorter ones first: what stands still for seconds with them would do so for hours with the others. */
const UNITS = [40_000, 400_000, 4_000_000];
const GIVEN_UP_MS = 8_000;
const POOR = '0.000001';

const FILLINGS: Readonly<Record<string, string>> = {
  backslashes: '\\',
  quotes: '"',
  'escaped quotes': '\\"',
  'repeated pieces': "'aaaaaaaaaaaa' ",
  'one letter': 'a',
  entities: '&amp;#x5c;',
  'percent signs': '%25',
  'white space': ' \n',
};

interface Way {
  readonly name: string;
  readonly poor: boolean;
  body(text: string): object;
}

const WAYS: readonly Way[] = [
  {
    name: 'an unknown model',
    poor: true,
    body: (text) => SPEECH.chat.request({ model: 'none', messages: said(text) }),
  },
  {
    name: 'a wrong field',
    poor: true,
    body: (text) => SPEECH.chat.request({ model: MODEL, messages: said(text), temperature: text.slice(0, 40_000) }),
  },
  {
    name: 'the error of a provider',
    poor: false,
    body: (text) => SPEECH.chat.request({ model: MODEL, messages: said(text) }),
  },
];

function said(content: string): object[] {
  return [{ role: 'user', content }];
}

export const TEXT_WORK: Attack = {
  name: 'text that takes long to scan',
  tags: 'F41',
  run: async (arena) => {
    arena.provider.answer = (call) => {
      const content = (call.body.messages as { content: string }[])[0]?.content ?? '';
      const message = `Invalid content: ${content.slice(0, 60_000)}`;
      call.reply(400, { error: { message, type: 'invalid_request_error', code: 'invalid_value', param: 'messages' } });
    };
    const keys = { poor: await arena.key({ credit: POOR }), rich: await arena.key() };
    const statuses: string[] = [];
    let slowest = { ms: 0, what: '' };
    for (const units of UNITS) {
      for (const [filling, piece] of Object.entries(FILLINGS)) {
        const text = piece.repeat(Math.ceil(units / piece.length));
        for (const { name, poor, body } of WAYS) {
          if (!arena.goesOn) return summary(arena, statuses, slowest);
          const answer = await send(poor ? keys.poor : keys.rich, SPEECH.chat.path, body(text), {
            withinMs: GIVEN_UP_MS,
          });
          statuses.push(errorCode(answer));
          const what = `${units / 1_000} KB of ${filling}, ${name}`;
          if (answer.ms > slowest.ms) slowest = { ms: answer.ms, what };
          if (answer.status === 0) {
            arena.fault(`${what}: not answered within ${GIVEN_UP_MS / 1_000} s`);
            return summary(arena, statuses, slowest);
          }
        }
      }
    }
    summary(arena, statuses, slowest);
  },
};

function summary(
  arena: Arena,
  statuses: readonly string[],
  slowest: { readonly ms: number; readonly what: string },
): void {
  arena.figure(`${statuses.length} requests: ${summed(statuses)}`);
  arena.figure(`the slowest took ${Math.round(slowest.ms)} ms: ${slowest.what}`);
}
