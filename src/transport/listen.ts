/** Listening, as both implementations do it. */
import type { Server } from 'node:net';
import type { ListenOptions } from './server.ts';

/** The port that is listened on. `onAcceptError` is called for connections that could not be accepted later on. */
export function listenOn(
  listener: Server,
  options: ListenOptions,
  onAcceptError: (error: Error) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(options, () => {
      listener.off('error', reject);
      listener.on('error', onAcceptError);
      const address = listener.address();
      if (address === null || typeof address === 'string') reject(new Error('the listener has no port'));
      else resolve(address.port);
    });
  });
}
