/** `gateway requests` and `gateway top`. The log is read where it lies, whether a gateway runs or not. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AdminClient, AdminConnection } from '../admin/client.ts';
import { AdminError } from '../admin/error.ts';
import { validQuery } from '../admin/http/validate.ts';
import { NO_ACCOUNT } from '../admin/keys/schema.ts';
import { historyLines } from '../admin/operators/history.ts';
import type { RequestHistoryView } from '../admin/operators/history-schema.ts';
import { type KeysOfAccount, Requests, type Search } from '../admin/requests/requests.ts';
import { RequestSearch } from '../admin/requests/schema.ts';
import { type CommandArguments, UsageError } from '../cli/arguments.ts';
import { type Frame, requestLine, requestsTable, runningText } from '../cli/requests-text.ts';
import type { Settings } from '../config/config.ts';
import type { RequestView } from '../observe/request-log/view.ts';
import { StoreError } from '../storage/errors.ts';
import { openRequestLogReader } from './request-log.ts';

const POLL_MS = 500;
const FRAME_MS = 1_000;
/** Home, and then everything behind the cursor is cleared: nothing flickers. */
const REDRAW = '\x1b[H\x1b[J';

type Print = (text: string) => void;

async function withLog<T>(
  settings: Settings,
  use: (requests: Requests) => Promise<T>,
  keysOf?: KeysOfAccount,
): Promise<T> {
  const reader = await openRequestLogReader(settings);
  try {
    return await use(new Requests(reader, async () => [], null, keysOf));
  } finally {
    await reader.close();
  }
}

/** Asked for each time anew, so that nothing of the store is kept locked while requests are followed. */
function keysOfAccount(connectAdmin: () => Promise<AdminConnection>): KeysOfAccount {
  return async (accountId, below) => {
    const { api, close } = await connectAdmin();
    try {
      if (accountId !== null) await api.call('showAccount', { id: accountId });
      const keys = await api.all('listKeys', { account: accountId ?? NO_ACCOUNT, below: below ? 'yes' : 'no' });
      return new Set(keys.map(({ id }) => id));
    } finally {
      await close();
    }
  };
}

export function showRequest(
  settings: Settings,
  { operands: [id = ''], switches }: CommandArguments,
  connectAdmin: (() => Promise<AdminConnection>) | null = null,
): Promise<string> {
  return withLog(settings, async (requests) => {
    const { request, explanation } = await requests.show(id).catch((error) => notLogged(id, error, connectAdmin));
    const { history, lines } = await historyOf(request, connectAdmin);
    return switches.has('json')
      ? `${JSON.stringify({ ...request, history })}\n`
      : `${[...explanation, ...lines].join('\n')}\n`;
  });
}

/** What the ledger has of it, only the admin API can say. */
async function notLogged(
  id: string,
  error: unknown,
  connectAdmin: (() => Promise<AdminConnection>) | null,
): Promise<never> {
  if (connectAdmin === null || !isMissing(error)) throw error;
  try {
    const { api, close } = await connectAdmin();
    await api.call('showRequest', { id }).finally(close);
  } catch (told) {
    if (isMissing(told) || !(told instanceof AdminError || told instanceof StoreError)) throw told;
  }
  throw error;
}

function isMissing(error: unknown): boolean {
  return error instanceof AdminError && error.code === 'not_found';
}

/** What was done about it since, of which only the admin API knows; the story is told also where that cannot be asked. */
async function historyOf(
  { id, held }: RequestView,
  connectAdmin: (() => Promise<AdminConnection>) | null,
): Promise<{ readonly history: RequestHistoryView | null; readonly lines: readonly string[] }> {
  // Without a hold there is nothing to give back, and perhaps no store either.
  if (held === null || connectAdmin === null) return { history: null, lines: [] };
  try {
    const { api, close } = await connectAdmin();
    try {
      const { history } = await api.call('showRequest', { id });
      return { history, lines: historyLines(history) };
    } finally {
      await close();
    }
  } catch (error) {
    if (!(error instanceof AdminError || error instanceof StoreError)) throw error;
    return { history: null, lines: ['', `History: cannot be looked up (${error.message})`] };
  }
}

/** With `--follow` until `signal`: what is there first, oldest first, and then what comes. */
export function listRequests(
  settings: Settings,
  { flags, switches }: CommandArguments,
  print: Print,
  signal: AbortSignal,
  connectAdmin: () => Promise<AdminConnection>,
): Promise<void> {
  const search = searchOf(flags);
  if (switches.has('follow') && (search.until !== undefined || search.before !== undefined)) {
    throw new UsageError('requests list: --follow shows requests as they end: leave out --until and --before');
  }
  const json = switches.has('json');
  return withLog(
    settings,
    async (requests) => {
      if (switches.has('follow')) return follow(requests, search, json, print, signal);
      const page = await requests.list(search, Date.now());
      if (json) {
        print(`${JSON.stringify(page)}\n`);
        return;
      }
      print(`${requestsTable(page.data).join('\n')}\n`);
      if (page.next !== null) print(`\nMore: add --before ${page.next}\n`);
    },
    keysOfAccount(connectAdmin),
  );
}

async function follow(
  requests: Requests,
  search: Search,
  json: boolean,
  print: Print,
  signal: AbortSignal,
): Promise<void> {
  const write = (view: RequestView): void => print(`${json ? JSON.stringify(view) : requestLine(view)}\n`);
  const { since: _since, limit: _limit, ...filters } = search;
  let { position } = await requests.tail(filters, null, Date.now());
  const seen = new Set<string>();
  for (const view of (await requests.list(search, Date.now())).data.toReversed()) {
    seen.add(view.id);
    write(view);
  }
  while (!signal.aborted) {
    const tail = await requests.tail(filters, position, Date.now());
    ({ position } = tail);
    for (const view of tail.requests) if (!seen.has(view.id)) write(view);
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

function searchOf(flags: CommandArguments['flags']): Search {
  const { slower, costlier, 'client-request-id': clientRequestId, 'model-part': modelPart, ...rest } = flags;
  return validQuery(RequestSearch, {
    ...rest,
    ...(clientRequestId !== undefined && { client_request_id: clientRequestId }),
    ...(modelPart !== undefined && { model_part: modelPart }),
    ...(slower !== undefined && { slower_than: slower }),
    ...(costlier !== undefined && { costlier_than: costlier }),
  });
}

/** Redrawn every second until `signal`; once where the output is not a terminal, or as JSON. */
export async function top(
  client: Pick<AdminClient, 'call'>,
  { switches }: CommandArguments,
  print: Print,
  terminal: boolean,
  signal: AbortSignal,
): Promise<void> {
  let before: Frame | null = null;
  while (!signal.aborted) {
    const frame: Frame = { atMs: Date.now(), running: (await client.call('runningRequests', {})).data };
    if (switches.has('json')) {
      print(`${JSON.stringify(frame.running)}\n`);
      return;
    }
    print(`${terminal ? REDRAW : ''}${runningText(frame, before).join('\n')}\n`);
    if (!terminal) return;
    before = frame;
    await delay(FRAME_MS, undefined, { signal }).catch(() => {});
  }
}
