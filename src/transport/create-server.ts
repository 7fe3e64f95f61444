/** Which implementation serves the public listener. */
import type { Log } from '../core/log.ts';
import { LeanServer } from './lean/server/server.ts';
import { NodeServer } from './node/server/server.ts';
import type { RequestHandler, ServerLimits, ServerTransport, TlsIdentity } from './server.ts';

export interface ServerTransportOptions {
  readonly kind: 'node' | 'lean';
  readonly limits: ServerLimits;
  readonly handler: RequestHandler;
  readonly log: Log;
  /** Null: plain HTTP. Only `node` has TLS. */
  readonly tls: TlsIdentity | null;
  /** Whether many clients share an address: that of a proxy of the operator's own. */
  isProxy(address: string): boolean;
}

export function createServerTransport({ kind, ...options }: ServerTransportOptions): ServerTransport {
  if (kind === 'node') return new NodeServer(options);
  const { limits, handler, log, tls } = options;
  if (tls !== null) throw new Error('the lean transport has no TLS');
  return new LeanServer(limits, handler, log);
}
