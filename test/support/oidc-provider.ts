/** A real OpenID Connect provider on a free port, which signs in whoever it is told to, without a page in between. */
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

export interface OidcFixture extends AsyncDisposable {
  readonly issuer: string;
  subject: string;
  /** What its ID tokens say beside the subject. */
  claims: Readonly<Record<string, unknown>>;
}

export async function oidcFixture(redirect: string): Promise<OidcFixture> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the provider has no port');
  const issuer = `http://127.0.0.1:${address.port}`;
  const fixture = { issuer, subject: 'ann', claims: {} as Readonly<Record<string, unknown>> };
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'gateway', client_secret: 'a-secret-for-tests', redirect_uris: [redirect] }],
    pkce: { required: () => true },
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'email', 'gateway_role'], profile: [], email: [] },
    findAccount: async (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: async () => ({ sub, ...fixture.claims }),
    }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: async (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    cookies: { keys: ['a key for cookies of tests'] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
  });
  const serve = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void serve(request, response);
    void interact(provider, request, response, fixture.subject);
  });
  return Object.assign(fixture, {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

type Serve = ReturnType<Provider['callback']>;

/** What a person would do on its pages: sign in, and agree. */
async function interact(
  provider: Provider,
  request: Parameters<Serve>[0],
  response: Parameters<Serve>[1],
  accountId: string,
): Promise<void> {
  const { prompt, params, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId } });
  }
  const grant =
    (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
    new provider.Grant({ accountId, clientId: String(params.client_id) });
  grant.addOIDCScope(String(params.scope));
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
}
