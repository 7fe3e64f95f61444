/** Commands about single requests that go through the admin API. */
import { printable } from '../lib/printable.ts';
import { type Command, command } from './command.ts';

export const REQUEST_CONTENT: Command = command({
  words: ['requests', 'content'],
  examples: ['requests content req_01a1e174667d0053556642d39a21a3d8'],
  operands: ['ID'],
  summary: 'show the captured content of a request whose key has --capture-days; the audit trail records who read it',
  ask: (api, { operands: [id = ''] }) => api.call('requestContent', { id }),
  print: ({ request, response, cut, expires_at }) => {
    const kept = `kept until ${expires_at}${cut ? '; truncated' : ''}`;
    return [`Request (${kept}):`, ...linesOf(request), '', 'Response:', ...linesOf(response)];
  },
});

/** Both sides can hold what a terminal would act on; `--json` has them as they were. */
function linesOf(text: string): readonly string[] {
  return text.split('\n').map(printable);
}
