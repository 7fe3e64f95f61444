/**
 * Sends mail by the operator's server. Its library is loaded with the first one. A few connections are kept while there is
 * mail, and none longer than half a minute after it.
 */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { SMTPPoolOptions } from 'nodemailer';
import type { SmtpPolicy } from '../core/alert-policy.ts';
import { checkedAddress } from './address.ts';
import { alertContent } from './alert.ts';
import { alertDetails, alertLine } from './alert-text.ts';
import type { Delivery } from './port.ts';
import { abortedBy, type WayOptions } from './post.ts';

type Library = typeof import('nodemailer');
type Transport = ReturnType<typeof transportOf>;

export const CONNECTIONS_MAX = 4;
const MESSAGES_OF_A_CONNECTION = 100;
const IDLE_MS = 30_000;
/** Of one mail in all: shorter than its lease, and what an end of the gateway may have to wait for. */
const TIMEOUT_MS = 20_000;
/** Of a server that says nothing. */
const SILENCE_MS = 10_000;
const SUBJECT_CHARACTERS_MAX = 200;

interface Mail {
  readonly from: { readonly name: string; readonly address: string };
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId: string;
  readonly date: Date;
  readonly headers: Readonly<Record<string, string>>;
}

/** Its id is the same for every attempt, so that a mailbox can tell a repeat. */
export function mailOf({ alertId, target, body }: Delivery, to: string, from: string): Mail {
  const { type, timestamp, data } = alertContent(body);
  const line = alertLine(type, data);
  const subject = line.length <= SUBJECT_CHARACTERS_MAX ? line : `${line.slice(0, SUBJECT_CHARACTERS_MAX - 1)}…`;
  const details = [`type: ${type}`, `time: ${timestamp}`, ...alertDetails(data), `id: ${alertId}`];
  return {
    from: { name: 'Model Gateway', address: from },
    to,
    subject: `[Model Gateway] ${subject}`,
    text: `${line}\n\n${details.join('\n')}\n`,
    messageId: `<${alertId}.${hash('sha256', target, 'hex').slice(0, 12)}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    date: new Date(timestamp),
    // No out-of-office notice comes back.
    headers: { 'auto-submitted': 'auto-generated', 'x-auto-response-suppress': 'All' },
  };
}

export class Mailer {
  /** With what it was made for. */
  #transport: { readonly madeFor: unknown; readonly transport: Transport } | null = null;

  /** Resolves when the server has taken it. */
  async send(mail: Mail, smtp: SmtpPolicy, way: WayOptions): Promise<void> {
    const library = await import('nodemailer');
    const { timeoutMs = TIMEOUT_MS } = way;
    const transport = this.#transportOf(library, smtp, way);
    const signal = AbortSignal.timeout(timeoutMs);
    const late = new Error(`the mail server did not take it within ${timeoutMs / 1_000} s`);
    try {
      await Promise.race([transport.sendMail(mail), abortedBy(signal, late)]);
    } catch (error) {
      // Whatever a server that trickles its answers still holds must not be sent later: it is tried again.
      if (error === late) this.#forget(transport);
      throw new Error(withoutLogin(error instanceof Error ? error.message : String(error), smtp), { cause: error });
    }
  }

  close(): void {
    if (this.#transport !== null) this.#forget(this.#transport.transport);
  }

  /** Another configuration has other connections; those of the one before end with what they send. */
  #transportOf(library: Library, smtp: SmtpPolicy, way: WayOptions): Transport {
    const madeFor = { smtp, allowPrivate: way.allowPrivate, ca: way.ca };
    if (this.#transport !== null && isDeepStrictEqual(this.#transport.madeFor, madeFor))
      return this.#transport.transport;
    this.#transport?.transport.close();
    const transport = transportOf(library, smtp, way);
    this.#transport = { madeFor, transport };
    return transport;
  }

  #forget(transport: Transport): void {
    if (this.#transport?.transport === transport) this.#transport = null;
    transport.close({ force: true });
  }
}

function transportOf({ createTransport }: Library, smtp: SmtpPolicy, way: WayOptions) {
  const { host, port, tls, login } = smtp;
  const { timeoutMs: silenceMs = SILENCE_MS } = way;
  const options: SMTPPoolOptions & { readonly pool: true } = {
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    maxMessages: MESSAGES_OF_A_CONNECTION,
    maxRequeues: 1,
    idleTimeout: IDLE_MS,
    connectionTimeout: silenceMs,
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'off',
    tls: {
      minVersion: 'TLSv1.2',
      ...(isIP(host) === 0 && { servername: host }),
      ...(way.ca !== null && { ca: [...rootCertificates, way.ca] }),
    },
    ...(login !== null && { auth: { user: login.user, pass: login.password }, forceAuth: true }),
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket: (_options, opened) => {
      connectionTo(smtp, way, silenceMs).then(
        (connection) => opened(null, { connection }),
        (error: Error) => opened(error),
      );
    },
  };
  return createTransport(options);
}

/** To the address that was judged: the library would look the name up by itself. */
async function connectionTo({ host, port, tls }: SmtpPolicy, way: WayOptions, timeoutMs: number): Promise<Socket> {
  const { allowPrivate, resolve } = way;
  const signal = AbortSignal.timeout(timeoutMs);
  const late = new Error(`no connection to ${host} within ${timeoutMs / 1_000} s`);
  const found = checkedAddress(host, { allowPrivate, inTheClear: tls === 'off' }, resolve);
  const { address } = await Promise.race([found, abortedBy(signal, late)]);
  const socket = connect({ host: address, port });
  try {
    await once(socket, 'connect', { signal });
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? late : error;
  }
  return socket;
}

/** A server may say back what it was told. */
function withoutLogin(message: string, { login }: SmtpPolicy): string {
  const secrets =
    login === null
      ? []
      : [login.password, Buffer.from(login.password), Buffer.from(`\0${login.user}\0${login.password}`)].map(
          (secret) => (typeof secret === 'string' ? secret : secret.toString('base64')),
        );
  return secrets.reduce((text, secret) => text.replaceAll(secret, '…'), message);
}
