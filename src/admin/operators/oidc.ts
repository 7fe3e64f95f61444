/**
 * Sign-in at the console through OpenID Connect: the code flow with PKCE, state and nonce, and one fixed redirect address.
 * What has to be remembered until the provider sends the browser back is in a sealed cookie of that browser.
 */
import * as client from 'openid-client';
import type { OidcSettings } from '../../config/oidc.ts';
import { isObject, parseJson, stringAt } from '../../lib/json.ts';
import { type OutsideIdentity, ROLES, type Role } from '../../operators/port.ts';
import { seal, unseal } from '../../operators/secrets.ts';

const COOKIE_SEAL = 'oidc sign-in';
const NAME_CHARACTERS_MAX = 200;
/** An account-admin is bound to an account, which a claim does not name. */
const CLAIMED_ROLES: readonly Role[] = ROLES.filter((role) => role !== 'account-admin');

/** Why nobody was signed in. */
export type OidcProblem = 'no_role' | 'failed';

export class OidcSignIn {
  readonly settings: OidcSettings;
  readonly #installationSecret: string;
  #discovered: Promise<client.Configuration> | null = null;

  constructor(settings: OidcSettings, installationSecret: string) {
    this.settings = settings;
    this.#installationSecret = installationSecret;
  }

  /** Where the browser goes, and what it has to bring back. */
  async begin(): Promise<{ readonly address: string; readonly sealed: string }> {
    const config = await this.#configuration();
    const verifier = client.randomPKCECodeVerifier();
    const state = client.randomState();
    const nonce = client.randomNonce();
    const { redirect, scope } = this.settings;
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: redirect,
      scope,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const sealed = seal(this.#installationSecret, COOKIE_SEAL, JSON.stringify({ verifier, state, nonce }));
    return { address: address.href, sealed: Buffer.from(sealed, 'base64').toString('base64url') };
  }

  /** `query`: with the question mark, as the browser came back. Rejects where the provider does not vouch for anybody. */
  async finish(query: string, sealed: string): Promise<OutsideIdentity | OidcProblem> {
    const begun = this.#open(sealed);
    if (begun === null) return 'failed';
    const tokens = await client.authorizationCodeGrant(
      await this.#configuration(),
      // Not what the request says of its own address: a proxy may have changed that, and the address is fixed.
      new URL(this.settings.redirect + query),
      {
        pkceCodeVerifier: begun.verifier,
        expectedState: begun.state,
        expectedNonce: begun.nonce,
        idTokenExpected: true,
      },
    );
    const claims = tokens.claims();
    if (claims === undefined) return 'failed';
    const role = roleIn(claims[this.settings.roleClaim]);
    if (role === null) return 'no_role';
    const name = [claims.email, claims.preferred_username, claims.name, claims.sub].find(isName) ?? claims.sub;
    return { issuer: claims.iss, subject: claims.sub, name: name.slice(0, NAME_CHARACTERS_MAX), role };
  }

  #open(sealed: string): { verifier: string; state: string; nonce: string } | null {
    try {
      const text = Buffer.from(sealed, 'base64url').toString('base64');
      const value = parseJson(unseal(this.#installationSecret, COOKIE_SEAL, text));
      if (!isObject(value)) return null;
      const [verifier, state, nonce] = ['verifier', 'state', 'nonce'].map((name) => stringAt(value, name));
      return verifier === undefined || state === undefined || nonce === undefined ? null : { verifier, state, nonce };
    } catch {
      return null;
    }
  }

  /** Asked for once; again where that failed. */
  #configuration(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.settings;
    const plain = issuer.startsWith('http:');
    this.#discovered ??= client
      .discovery(
        new URL(issuer),
        clientId,
        undefined,
        clientSecret === null ? client.None() : client.ClientSecretBasic(clientSecret),
        // The settings allow this on the machine itself only.
        plain ? { execute: [client.allowInsecureRequests] } : {},
      )
      .catch((error: unknown) => {
        this.#discovered = null;
        throw error;
      });
    return this.#discovered;
  }
}

/** The first that is one: a claim can be a text or a list of groups. No claim, no role. */
function roleIn(claim: unknown): Role | null {
  const named = [claim].flat();
  return CLAIMED_ROLES.find((role) => named.includes(role)) ?? null;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{Cc}\p{Zl}\p{Zp}]+$/u.test(value);
}
