import type { Socket } from 'node:net';

/**
 * Ends a connection with a reset, as a crashed server does. One whose end is being sent already is closed instead: Node's
 * own reset fails on it without saying so, never closes the handle, and then the process never exits.
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
