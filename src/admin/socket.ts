/** The Unix socket of the admin API, which only the gateway's own user can open. */
import { hash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { errorCode } from '../lib/error-code.ts';
import { AdminError } from './error.ts';

const SOCKET_NAME = 'gateway.sock';
/** The kernel's limit is 104 bytes on some systems, with the terminating NUL; the socket is created under a longer name. */
const PATH_BYTES_MAX = 100;
const DRAFT_SUFFIX = '.new';

/** The same for every spelling of the same folder. */
export function socketPath(dataDir: string, platform: NodeJS.Platform = process.platform): string {
  const folder = realFolder(dataDir);
  if (platform === 'win32') return `\\\\.\\pipe\\gateway-${shortHash(folder)}`;
  const path = join(folder, SOCKET_NAME);
  if (fits(path)) return path;
  const name = `gateway-${process.getuid?.() ?? 0}`;
  const inTemp = join(tmpdir(), name, `${shortHash(folder)}.sock`);
  return fits(inTemp) ? inTemp : join('/tmp', name, `${shortHash(folder)}.sock`);
}

/**
 * Whether the socket's folder can be trusted: the one below the temporary folder must belong to this user alone,
 * otherwise another user could impersonate the gateway.
 */
export function requirePrivateFolder(path: string, dataDir: string): void {
  const folder = dirname(path);
  if (process.platform === 'win32' || folder === realFolder(dataDir)) return;
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o077) === 0) return;
  throw new AdminError(
    'unavailable',
    `${folder} must be a folder of this user with mode 0700: remove it or set TMPDIR`,
  );
}

interface SocketListener {
  readonly path: string;
  /** Stops listening and removes the socket, unless another process has put its own there. */
  close(): Promise<void>;
}

/**
 * Listens on the data folder's socket, replacing one that a dead process left behind. The caller must hold the
 * store's lock: that is how it knows that the other process is dead.
 */
export async function listenOnSocket(
  server: Server,
  dataDir: string,
  close: () => Promise<void> = () => closeServer(server),
): Promise<SocketListener> {
  const path = socketPath(dataDir);
  if (process.platform === 'win32') {
    await listen(server, path);
    return { path, close };
  }
  if (dirname(path) !== realFolder(dataDir)) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  requirePrivateFolder(path, dataDir);
  // Created under another name and renamed: the path never has a socket that is not ready or open to others, and
  // closing this server can never remove the socket of its successor.
  const draft = `${path}${DRAFT_SUFFIX}`;
  let ino: number;
  try {
    rmSync(draft, { force: true });
    await listen(server, draft);
    chmodSync(draft, 0o600);
    ino = lstatSync(draft).ino;
    renameSync(draft, path);
  } catch (error) {
    // A listener that stays open would keep the process alive, without anybody who is served. It removes the draft itself.
    await close();
    throw noSocket(path, error);
  }
  return {
    path,
    close: async () => {
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) rmSync(path, { force: true });
      await close();
    },
  };
}

function noSocket(path: string, cause: unknown): AdminError {
  const inTheWay = [path, `${path}${DRAFT_SUFFIX}`].find((each) =>
    lstatSync(each, { throwIfNoEntry: false })?.isDirectory(),
  );
  return new AdminError(
    'unavailable',
    inTheWay === undefined
      ? `the socket ${path} cannot be created (${errorCode(cause) ?? String(cause)}): its folder must be writable for this user, on a file system that has Unix sockets`
      : `${inTheWay} is a folder, where the gateway needs its socket: remove it, or move it elsewhere`,
    { cause },
  );
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(path, () => {
      server.off('error', failed);
      done();
    });
  });
}

export function closeServer(server: Server & { closeIdleConnections?: () => void }): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
    server.closeIdleConnections?.();
  });
}

function realFolder(dataDir: string): string {
  try {
    return realpathSync(dataDir);
  } catch {
    // A folder that does not exist yet has no other name.
    return resolve(dataDir);
  }
}

function fits(path: string): boolean {
  return Buffer.byteLength(`${path}${DRAFT_SUFFIX}`) <= PATH_BYTES_MAX;
}

function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 24);
}
