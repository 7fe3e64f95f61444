import type { Adapter } from '../peer.ts';

/** No peer at all: what load and upstream cost by themselves. */
export const direct: Adapter = {
  name: 'direct',
  missing: () => null,
  refuses: (shape) => (shape.client === shape.native ? null : 'there is nothing that could translate'),
  launch: (context) => ({
    command: null,
    args: [],
    origin: context.upstreamOrigin,
    readyPath: '/',
    runsOnNode: false,
    tellsLoopDelay: false,
    headers: () => ({ authorization: 'Bearer bench' }),
  }),
};
