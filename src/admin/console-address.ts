/** Where a browser opens the console, and what it finds there. */
import { isLoopback } from '../core/client-address.ts';
import { publicOrigin } from './public-origin.ts';

export interface ConsoleAddress {
  /** For example `http://127.0.0.1:8081`; null where nobody could sign in there. */
  readonly origin: string | null;
  /** The SHA-256 fingerprint of a certificate that no authority has signed, so that browsers ask about it. */
  readonly fingerprint: string | null;
}

interface ConsoleSettings {
  readonly adminUrl: string | null;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly adminProxy: boolean;
  readonly adminTls: object | null;
}

export const NO_CONSOLE =
  "the console cannot be opened: the operator's listener can be reached from other machines and speaks plain HTTP. Let it make a certificate (GATEWAY_ADMIN_TLS=self-signed), give it yours (GATEWAY_ADMIN_TLS_CERT, GATEWAY_ADMIN_TLS_KEY), or put it behind a proxy with TLS and say so (GATEWAY_ADMIN_PROXY=on, GATEWAY_ADMIN_URL)";

const EVERYWHERE = ['0.0.0.0', '::'];

/** `port`: the one that it listens on, where the setting lets the system choose. */
export function consoleOrigin(settings: ConsoleSettings, port: number = settings.adminPort): string | null {
  const { adminUrl, adminHost, adminProxy, adminTls } = settings;
  const secure = adminTls !== null;
  const origin = adminUrl ?? publicOrigin(adminHost, port, secure);
  // A browser on this machine, or at the other end of a tunnel to it, is served in the clear too.
  const isLocal = EVERYWHERE.includes(adminHost) && isLoopback(new URL(origin).hostname);
  return secure || adminProxy || isLoopback(adminHost) || isLocal ? origin : null;
}

/** What the browser warns of, and how to tell that it is this gateway. */
export function fingerprintLines(fingerprint: string | null): readonly string[] {
  if (fingerprint === null) return [];
  return [
    'The gateway made its certificate itself, so the browser warns. Go on where it shows this SHA-256 fingerprint:',
    `  ${fingerprint}`,
  ];
}
