/** Commands about single requests, and about what was done to something, that go through the admin API. */
import { eventText } from '../admin/operators/history.ts';
import { printable } from '../lib/printable.ts';
import { type Command, command } from './command.ts';

export const REQUEST_COMMANDS: readonly Command[] = [
  command({
    words: ['requests', 'stop'],
    examples: ['requests stop req_01a1e174667d0053556642d39a21a3d8'],
    operands: ['ID'],
    summary: 'stop a running request; what was produced is charged. "gateway top" lists those that run',
    ask: (api, { operands: [id = ''] }) => api.call('stopRequest', { id }),
    print: ({ id }) => [`${id} is stopped; what was produced is charged`],
  }),
  command({
    words: ['keys', 'stop'],
    examples: ['keys stop key_1'],
    operands: ['ID'],
    summary: 'stop all running requests of a key; suspend it first, so that it begins no others',
    ask: (api, { operands: [id = ''] }) => api.call('stopKey', { id }),
    print: ({ id, stopped }) => [`${stopped} running ${stopped === 1 ? 'request' : 'requests'} of ${id} stopped`],
  }),
  command({
    words: ['requests', 'content'],
    examples: ['requests content req_01a1e174667d0053556642d39a21a3d8'],
    operands: ['ID'],
    summary: 'show the captured content of a request whose key has --capture-days; the audit trail records who read it',
    ask: (api, { operands: [id = ''] }) => api.call('requestContent', { id }),
    print: ({ request, response, cut, expires_at }) => {
      const kept = `kept until ${expires_at}${cut ? '; truncated' : ''}`;
      return [`Request (${kept}):`, ...linesOf(request), '', 'Response:', ...linesOf(response)];
    },
  }),
];

export function historyCommand(
  of: 'keys' | 'accounts',
  operation: 'keyHistory' | 'accountHistory',
  example: string,
  summary: string,
): Command {
  return command({
    words: [of, 'history'],
    examples: [`${of} history ${example}`],
    operands: ['ID'],
    summary,
    ask: async (api, { operands: [id = ''] }) => (await api.call(operation, { id })).data,
    print: (events) => (events.length === 0 ? ['Nothing is in the audit trail about it.'] : events.map(eventText)),
  });
}

/** Both sides can hold what a terminal would act on; `--json` has them as they were. */
function linesOf(text: string): readonly string[] {
  return text.split('\n').map(printable);
}
