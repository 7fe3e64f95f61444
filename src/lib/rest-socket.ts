/** How a socket gives others a turn. */
import type { Socket } from 'node:net';

const RESTING = new WeakSet<Socket>();

/**
 * It is not read before the next turn of the event loop. libuv reads up to 2 MB of one socket before it looks at another,
 * and `node:http` takes a pause back whenever a request is complete. `goesOn`: asked then, unless somebody wants it read anyway.
 */
export function restUntilNextTurn(socket: Socket, goesOn: () => boolean): void {
  if (RESTING.has(socket)) return;
  RESTING.add(socket);
  let resumed = false;
  const stay = (): void => {
    resumed = true;
    socket.pause();
  };
  socket.pause();
  socket.on('resume', stay);
  setImmediate(() => {
    RESTING.delete(socket);
    socket.off('resume', stay);
    if (resumed || goesOn()) socket.resume();
  });
}
