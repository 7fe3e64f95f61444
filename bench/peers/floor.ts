import { fileURLToPath } from 'node:url';
import { type Adapter, originOf } from '../peer.ts';

const PROGRAM = fileURLToPath(new URL('../floor-proxy.ts', import.meta.url));

/** What durable accounting costs at least: how near to the bare proxy a gateway could come that does nothing else. */
export const floor: Adapter = {
  name: 'floor',
  note: 'floor is the bare proxy with the least durable accounting: what could be reached by a gateway without features',
  missing: () => null,
  refuses: ({ client, native, answer }) =>
    client === native && answer.kind === 'whole' ? null : 'it knows whole answers of one format only',
  launch: (context) => ({
    command: process.execPath,
    args: [PROGRAM, String(context.port), context.upstreamOrigin, context.folder],
    origin: originOf(context),
    readyPath: '/',
    runsOnNode: true,
    tellsLoopDelay: true,
    headers: () => ({ authorization: 'Bearer bench' }),
  }),
};
