/**
 * What a browser does with a link of `gateway operators link`, for an address at which the listener is reached: opens the page,
 * exchanges the token for a session, and asks who it is. A program of its own, so that it can be run in another network namespace:
 * `node sign-in.ts LINK ADDRESS` prints the statuses, and the fingerprint of the certificate that it met.
 */
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';

const [link = '', address = ''] = process.argv.slice(2);
const { origin, protocol, host, port, hash } = new URL(link);
const secure = protocol === 'https:';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly cookie: string;
  readonly fingerprint: string | null;
}

function ask(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Answer> {
  return new Promise((done, failed) => {
    const target: RequestOptions = { host: address, port, method, path, headers: { host, ...headers }, agent: false };
    const answered = (response: IncomingMessage): void => {
      const { socket, statusCode = 0, headers: got } = response;
      const fingerprint = socket instanceof TLSSocket ? socket.getPeerCertificate().fingerprint256 : null;
      const cookie = got['set-cookie']?.[0]?.split(';')[0] ?? '';
      text(response).then((all) => done({ status: statusCode, body: all, cookie, fingerprint }), failed);
    };
    // Whoever opens the link compares the fingerprint; so does the test.
    const call = secure
      ? tlsRequest({ ...target, rejectUnauthorized: false }, answered)
      : plainRequest(target, answered);
    call.on('error', failed).end(body);
  });
}

const page = await ask('GET', '/', { accept: 'text/html' });
const session = await ask(
  'POST',
  '/admin/v1/session',
  { origin, 'content-type': 'application/json' },
  JSON.stringify({ token: hash.replace('#token=', '') }),
);
const who = await ask('GET', '/admin/v1/session', { cookie: session.cookie });
process.stdout.write(
  JSON.stringify({
    page: page.status,
    session: session.status,
    who: who.status,
    fingerprint: page.fingerprint,
    said: page.body.slice(0, 600),
  }),
);
