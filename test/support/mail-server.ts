/** A mail server that speaks SMTP as RFC 5321 has it, with STARTTLS, AUTH PLAIN and LOGIN, and keeps what it takes. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, createServer as createSecureServer, TLSSocket } from 'node:tls';
import { type Certificate, certificateOfLocalhost } from './certificate.ts';

export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** As it was sent, with its header. */
  readonly text: string;
  readonly secure: boolean;
  /** Who had signed in. */
  readonly user: string | null;
}

export interface MailServer {
  readonly port: number;
  /** The authority that signs its certificate. */
  readonly ca: string;
  readonly mails: readonly TakenMail[];
  /** Every line that was said to it without TLS, besides the content of mails. */
  readonly saidInTheClear: readonly string[];
  /** Connections that were made. */
  readonly connections: () => number;
  readonly open: () => number;
  /** What it answers to a command from now on (`MAIL`, `DATA.` at the end of a mail, `CONNECT`); null: nothing at all. */
  answer(command: string, reply: string | null): void;
  /** As it was before. */
  answerAll(): void;
  /** Ends all connections, and takes no more. */
  end(): void;
  /** Resolves when it has taken so many. */
  untilTaken(count: number): Promise<void>;
}

interface MailServerOptions {
  /** `starttls` is offered, or TLS is there from the beginning, or neither. */
  readonly tls?: 'starttls' | 'implicit' | 'none';
  /** Without it nobody needs to sign in. */
  readonly login?: { readonly user: string; readonly password: string } | null;
  readonly certificate?: Certificate;
}

export async function mailServer(
  t: { after(end: () => void): void },
  { tls = 'starttls', login = null, certificate = certificateOfLocalhost() }: MailServerOptions = {},
): Promise<MailServer> {
  const mails: TakenMail[] = [];
  const saidInTheClear: string[] = [];
  const sockets = new Set<Socket>();
  const replies = new Map<string, string | null>();
  const waiting = new Set<() => void>();
  let connections = 0;

  const serve = (plain: Socket, secureAlready: boolean): void => {
    connections += 1;
    sockets.add(plain.on('error', () => {}).on('close', () => sockets.delete(plain)));
    converse(plain, secureAlready);
  };

  /** One conversation, until it ends or goes on with TLS. */
  const converse = (socket: Socket, secure: boolean, greets = true): void => {
    let rest = '';
    let envelope: { from: string; to: string[] } = { from: '', to: [] };
    let user: string | null = null;
    let content: string[] | null = null;
    let asked: ((line: string) => void) | null = null;
    const say = (command: string, reply: string): boolean => {
      const changed = replies.get(command);
      if (changed === null) return false;
      socket.write(`${changed ?? reply}\r\n`);
      return changed === undefined;
    };
    const signIn = (name: string, password: string): void => {
      const right = name === login?.user && password === login.password;
      if (say('AUTH', right ? '235 2.7.0 welcome' : '535 5.7.8 no') && right) user = name;
    };
    const decoded = (text: string): string => Buffer.from(text, 'base64').toString();
    const commands: Readonly<Record<string, (rest: string) => void>> = {
      EHLO: () => {
        const offered = [
          ...(tls === 'starttls' && !secure ? ['STARTTLS'] : []),
          ...(login !== null && (secure || tls === 'none') ? ['AUTH PLAIN LOGIN'] : []),
        ];
        say('EHLO', ['250-mail.test', ...offered.map((one) => `250-${one}`), '250 SIZE 1000000'].join('\r\n'));
      },
      STARTTLS: () => {
        const offered = tls === 'starttls' && !secure;
        if (!say('STARTTLS', offered ? '220 go ahead' : '502 5.5.1 not here') || !offered) return;
        socket.removeAllListeners('data');
        const secured = new TLSSocket(socket, {
          isServer: true,
          secureContext: createSecureContext({ key: certificate.key, cert: certificate.cert }),
        });
        sockets.add(secured.on('error', () => {}).on('close', () => sockets.delete(secured)));
        converse(secured, true, false);
      },
      AUTH: (given) => {
        const [method, first] = given.split(' ');
        const plain = (line: string): void => {
          const [, name = '', password = ''] = decoded(line).split('\0');
          signIn(name, password);
        };
        if (method === 'PLAIN' && first !== undefined) return plain(first);
        if (method === 'PLAIN') {
          asked = plain;
        } else {
          asked = (name) => {
            asked = (password) => signIn(decoded(name), decoded(password));
            socket.write('334 UGFzc3dvcmQ6\r\n');
          };
        }
        socket.write('334 \r\n');
      },
      MAIL: (given) => {
        envelope = { from: given.replace(/^FROM:<(.*?)>.*/i, '$1'), to: [] };
        say('MAIL', login !== null && user === null ? '530 5.7.0 sign in first' : '250 ok');
      },
      RCPT: (given) => {
        if (say('RCPT', '250 ok')) envelope.to.push(given.replace(/^TO:<(.*?)>.*/i, '$1'));
      },
      DATA: () => {
        if (say('DATA', '354 go on')) content = [];
      },
      RSET: () => say('RSET', '250 ok'),
      NOOP: () => say('NOOP', '250 ok'),
      QUIT: () => {
        say('QUIT', '221 bye');
        socket.end();
      },
    };
    const take = (line: string): void => {
      if (content !== null) {
        if (line !== '.') {
          content.push(line.startsWith('.') ? line.slice(1) : line);
          return;
        }
        const text = content.join('\r\n');
        content = null;
        if (!say('DATA.', '250 2.0.0 taken')) return;
        mails.push({ ...envelope, text, secure, user });
        for (const wake of [...waiting]) wake();
        return;
      }
      if (!secure) saidInTheClear.push(line);
      const answered = asked;
      asked = null;
      if (answered !== null) {
        answered(line);
        return;
      }
      const [command = '', ...given] = line.split(' ');
      const act = commands[command.toUpperCase()];
      if (act === undefined) socket.write('500 what?\r\n');
      else act(given.join(' '));
    };
    socket.on('data', (bytes) => {
      const lines = (rest + bytes.toString('latin1')).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) take(line);
    });
    if (greets) say('CONNECT', '220 mail.test ESMTP');
  };

  const server =
    tls === 'implicit'
      ? createSecureServer({ key: certificate.key, cert: certificate.cert }, (socket) => serve(socket, true))
      : createServer((socket) => serve(socket, false));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  t.after(end);
  return {
    port: (server.address() as AddressInfo).port,
    ca: certificate.cert,
    mails,
    saidInTheClear,
    connections: () => connections,
    open: () => sockets.size,
    answer: (command, reply) => {
      replies.set(command, reply);
    },
    answerAll: () => replies.clear(),
    end,
    untilTaken: (count) =>
      new Promise((done) => {
        const wake = (): void => {
          if (mails.length < count) return;
          waiting.delete(wake);
          done();
        };
        waiting.add(wake);
        wake();
      }),
  };
}
