/** Credential → key. Everything about the key itself that can refuse a request is refused here, before its body is read. */
import { GatewayError } from '../core/conditions.ts';
import { type CredentialScheme, type Endpoint, originOf } from '../core/endpoints.ts';
import { type KeyRecord, type KeyStatus, keyPrefix, keyStatus, type Mode } from '../core/key.ts';
import type { RateState } from '../ledger/port.ts';
import { type Gateway, storeFailed } from './gateway.ts';
import type { Caller, ClientRequest, RequestHeaders } from './request.ts';
import { addressRefusal } from './restrictions.ts';

const UNKNOWN_KEY = 'The API key is malformed, unknown or revoked.';

/** The caller of a request that needs a credential. */
export async function authenticate(gateway: Gateway, request: ClientRequest): Promise<Caller> {
  const caller = await authenticateOptional(gateway, request);
  if (caller === null) throw refused(`No API key was sent. ${howToSend(request.endpoint)}`);
  return caller;
}

/** Most requests: the key is known and may be used, so that nothing has to be waited for. Null: nothing was decided or noted. */
export function knownCaller(gateway: Gateway, request: ClientRequest): Caller | null {
  const { endpoint, headers, record, originMode } = request;
  const sent = credential(endpoint, headers);
  const digest = sent && gateway.keys.knownDigest(sent.scheme, sent.header);
  const key = digest && usableCopy(gateway, digest, request);
  if (!key || key.mode !== originMode) return null;
  record.authenticated(key, gateway.observer);
  return { key, digest };
}

/** A cached key may have been resumed since, or allowed from elsewhere: only a fresh copy can refuse. */
function usableCopy({ keys, clock }: Gateway, digest: string, request: ClientRequest): KeyRecord | null {
  const cached = keys.cached(digest);
  if (cached === undefined || keyStatus(cached, clock.nowMs()) !== 'active') return null;
  return addressRefusal(cached, request) === null ? cached : null;
}

/** Null where no credential was sent. */
export async function authenticateOptional(gateway: Gateway, request: ClientRequest): Promise<Caller | null> {
  const { endpoint, headers, record } = request;
  const sent = credential(endpoint, headers);
  if (sent === null) return null;
  const { keys } = gateway;
  const digest =
    keys.knownDigest(sent.scheme, sent.header) ?? keys.digestOf(keyTextOf(endpoint, sent), sent.scheme, sent.header);
  if (digest === null) throw new GatewayError('invalid_credentials', { message: UNKNOWN_KEY });
  const key = usableCopy(gateway, digest, request) ?? (await keys.fetch(digest).catch(storeFailed));
  if (key) record.authenticated(key, gateway.observer);
  const caller = admissible(gateway, key, digest);
  requireAddress(caller.key, request);
  if (caller.key.mode !== request.originMode) {
    record.rate = await rateOf(gateway, caller.key);
    throw wrongOrigin(gateway, request, caller.key.mode);
  }
  return caller;
}

/** The first characters of the secret that was sent: a key can have several. */
export function sentPrefix({ endpoint, headers }: ClientRequest): string | null {
  const sent = credential(endpoint, headers);
  return sent && keyPrefix(keyTextOf(endpoint, sent));
}

/** Without a place taken in it; null also where the store cannot say: the refusal does not depend on it. */
async function rateOf(gateway: Gateway, { id: keyId, version: keyVersion }: KeyRecord): Promise<RateState | null> {
  const peek = { keyId, keyVersion, claim: null, hold: null, rateCounted: true };
  const outcome = await gateway.ledger.admit(peek).catch(() => null);
  return outcome !== null && 'rate' in outcome ? outcome.rate : null;
}

function wrongOrigin(gateway: Gateway, request: ClientRequest, mode: Mode): GatewayError {
  const url = originOf(gateway.publicUrl ?? request.origin ?? '', mode);
  return new GatewayError('key_disabled', {
    message: `This is a ${mode} key. Use it with the base URL ${url}/v1 (Format A clients) or ${url || '/'} (Format B clients).`,
  });
}

/** The key of a digest that was sealed earlier, as it is now, if it may be used. */
export async function authenticateDigest(
  gateway: Gateway,
  digest: string,
  request: Pick<ClientRequest, 'clientAddress'>,
): Promise<Caller> {
  const caller = admissible(gateway, await gateway.keys.fetch(digest).catch(storeFailed), digest);
  requireAddress(caller.key, request);
  return caller;
}

/** Whoever decides by another copy of the key asks again. */
export function requireAddress(key: KeyRecord, request: Pick<ClientRequest, 'clientAddress'>): void {
  const refusal = addressRefusal(key, request);
  if (refusal !== null) throw refusal;
}

function admissible(gateway: Gateway, key: KeyRecord | null, digest: string): Caller {
  if (!key) throw new GatewayError('invalid_credentials', { message: UNKNOWN_KEY });
  const status = keyStatus(key, gateway.clock.nowMs());
  if (status !== 'active') throw keyRefused(status);
  return { key, digest };
}

export function keyRefused(status: Exclude<KeyStatus, 'active'>): GatewayError {
  switch (status) {
    case 'expired':
      return new GatewayError('key_expired', { message: 'This API key has expired.' });
    case 'disabled':
      return new GatewayError('key_disabled', { message: 'This API key is disabled.' });
    case 'suspended':
      return new GatewayError('invalid_credentials', { message: 'This API key is suspended.' });
    case 'revoked':
      return new GatewayError('invalid_credentials', { message: UNKNOWN_KEY });
  }
}

interface Credential {
  readonly scheme: CredentialScheme;
  /** The value of the header. */
  readonly header: string;
}

/** The one credential of the request; null where none was sent. */
function credential(endpoint: Endpoint, headers: RequestHeaders): Credential | null {
  const authorization = headers.get('authorization');
  const apiKey = headers.get('x-api-key');
  if (headers.repeated('authorization') || headers.repeated('x-api-key'))
    throw refused('A credential header is repeated. Send exactly one.');
  if (authorization !== null && apiKey !== null)
    throw refused('Two credentials were sent. Send either Authorization or x-api-key, not both.');
  if (authorization !== null) return { scheme: 'bearer', header: authorization };
  if (apiKey === null) return null;
  const accepted: readonly CredentialScheme[] = endpoint.credentials;
  if (!accepted.includes('x-api-key')) throw refused(`This route does not take x-api-key. ${howToSend(endpoint)}`);
  return { scheme: 'x-api-key', header: apiKey };
}

function keyTextOf(endpoint: Endpoint, { scheme, header }: Credential): string {
  if (scheme === 'x-api-key') {
    const text = header.trim();
    if (text === '') throw refused('The credential is empty: the x-api-key header has no API key.');
    return text;
  }
  if (/^(bearer)?\s*$/i.test(header)) {
    throw refused('The credential is empty: the Authorization header has no API key.');
  }
  const text = /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (text === undefined) throw refused(`The Authorization header is not of the Bearer scheme. ${howToSend(endpoint)}`);
  return text;
}

function refused(message: string): GatewayError {
  return new GatewayError('invalid_credentials', { message });
}

function howToSend(endpoint: Endpoint): string {
  const accepted: readonly CredentialScheme[] = endpoint.credentials;
  return `Send the key as "Authorization: Bearer <API_KEY>"${accepted.includes('x-api-key') ? ' or "x-api-key: <API_KEY>"' : ''}.`;
}
