/** Sign-in at the console through OpenID Connect, as the environment says. */
import { type Environment, givenVariable as given } from './secrets.ts';

export interface OidcSettings {
  /** The issuer's address, whose metadata is below `/.well-known/openid-configuration`. */
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client, which PKCE alone protects. */
  readonly clientSecret: string | null;
  /** Where the provider sends the browser back to, registered there: the console's address and the path of the callback. */
  readonly redirect: string;
  readonly scope: string;
  /** The claim of the ID token that names the role. */
  readonly roleClaim: string;
}

const OIDC_CALLBACK = '/admin/v1/oidc/callback';

/** What the operator is shown of it, by variable. */
export const OIDC_SHOWN: Readonly<Record<string, (oidc: OidcSettings | null) => unknown>> = {
  GATEWAY_OIDC_ISSUER: (oidc) => oidc?.issuer ?? null,
  GATEWAY_OIDC_CLIENT_ID: (oidc) => oidc?.clientId ?? null,
  GATEWAY_OIDC_CLIENT_SECRET: (oidc) => (oidc?.clientSecret == null ? null : 'set'),
  GATEWAY_OIDC_REDIRECT: (oidc) => oidc?.redirect ?? null,
  GATEWAY_OIDC_ROLE_CLAIM: (oidc) => oidc?.roleClaim ?? null,
  GATEWAY_OIDC_SCOPE: (oidc) => oidc?.scope ?? null,
};

/** Null where none is set. `refuse` makes the error of a setting. */
export function readOidc(
  env: Environment,
  clientSecret: string | null,
  refuse: (setting: string, message: string) => Error,
): OidcSettings | null {
  const issuer = given(env, 'GATEWAY_OIDC_ISSUER');
  if (issuer === undefined) return null;
  const clientId = given(env, 'GATEWAY_OIDC_CLIENT_ID');
  if (clientId === undefined) throw refuse('GATEWAY_OIDC_CLIENT_ID', ' is missing: GATEWAY_OIDC_ISSUER is set');
  if (!isSafeAddress(issuer)) {
    throw refuse('GATEWAY_OIDC_ISSUER', ' must be an https address (http only on this machine), without a query');
  }
  const redirect = given(env, 'GATEWAY_OIDC_REDIRECT');
  if (redirect === undefined || !isSafeAddress(redirect) || new URL(redirect).pathname !== OIDC_CALLBACK) {
    throw refuse(
      'GATEWAY_OIDC_REDIRECT',
      ` must be the console's address and ${OIDC_CALLBACK}, by https (http only on this machine), as it is registered at the provider`,
    );
  }
  return {
    issuer,
    clientId,
    clientSecret,
    redirect,
    scope: given(env, 'GATEWAY_OIDC_SCOPE') ?? 'openid profile email',
    roleClaim: given(env, 'GATEWAY_OIDC_ROLE_CLAIM') ?? 'gateway_role',
  };
}

function isSafeAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host);
}
