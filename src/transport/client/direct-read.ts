/**
 * What a socket has read is taken at once by whoever waits for it, and not by way of the stream's own buffer, which costs two
 * more ticks: 12.2 -> 11.3 us per chunk that one process sends to itself. Only while that buffer is empty: what is not taken
 * goes there, and all that comes behind it.
 */
import type { Socket } from 'node:net';

export function readDirectly(socket: Socket): void {
  const { push, read } = socket;
  let arrived: Buffer | null = null;
  let arriving = false;
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (arriving || !Buffer.isBuffer(chunk) || socket.readableLength > 0 || socket.listenerCount('readable') === 0) {
      return push.call(socket, chunk, encoding);
    }
    arrived = chunk;
    arriving = true;
    try {
      socket.emit('readable');
    } finally {
      arriving = false;
    }
    if (arrived === null) return socket.readableLength < socket.readableHighWaterMark;
    arrived = null;
    return push.call(socket, chunk);
  };
  socket.read = (size?: number): unknown => {
    if (!arriving) return read.call(socket, size);
    const chunk = arrived;
    arrived = null;
    // What was put back by whoever reads comes from the buffer.
    return chunk ?? (socket.readableLength > 0 ? read.call(socket, size) : null);
  };
}
