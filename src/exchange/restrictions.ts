/**
 * The restrictions of a key and the accounts above it that the request alone decides: models, the largest output, and where
 * requests come from. Of an account nothing is told but that it has a limit.
 */
import { isInRanges } from '../core/address-list.ts';
import { GatewayError } from '../core/conditions.ts';
import type { KeyRecord } from '../core/key.ts';
import type { Restrictions } from '../core/limits.ts';
import type { Model } from '../core/model.ts';
import { allowsModel } from '../core/model-pattern.ts';

export function mayUse(key: KeyRecord, model: Model): boolean {
  return keyAllows(key, model) && key.inherited.every((account) => allows(account, model));
}

export function modelRefused(key: KeyRecord, model: Model, param = 'model'): GatewayError {
  const name = JSON.stringify(model.id);
  const message = keyAllows(key, model)
    ? `This API key may not use the model ${name}: the limit of this key's account does not allow it.`
    : `This API key may not use the model ${name}: it is limited to ${limitOf(key)}.`;
  return new GatewayError('key_disabled', { message, param });
}

function keyAllows(key: KeyRecord, model: Model): boolean {
  return (key.providerScope === 'all' || key.providerScope === model.provider) && allows(key, model);
}

function allows({ models }: Restrictions, { id }: Model): boolean {
  return models === null || allowsModel(models, id);
}

function limitOf({ providerScope, models }: KeyRecord): string {
  const scope = providerScope === 'all' ? '' : `the provider ${JSON.stringify(providerScope)}`;
  const list = models === null ? '' : `the models ${models.map((id) => JSON.stringify(id)).join(', ')}`;
  return [scope, list].filter((part) => part !== '').join(' and ');
}

/** The largest output of a request of this key where the model gives `published`. */
export function largestOutput(key: KeyRecord, published: number): number {
  let tokens = Math.min(published, key.outputLimit ?? published);
  for (const { outputLimit } of key.inherited) tokens = Math.min(tokens, outputLimit ?? tokens);
  return tokens;
}

/** The reason to give to a client that asked for more than `largestOutput`. */
export function whoseOutput(key: KeyRecord, model: Model, published: number): string {
  const own = Math.min(published, key.outputLimit ?? published);
  if (largestOutput(key, published) < own) return "that is more than the limit of this key's account on output";
  if (own < published) return `this API key may ask for at most ${own} tokens`;
  return `the model ${model.id} gives at most ${published} tokens`;
}

/** Why a request from this address is refused; null where it is not. */
export function addressRefusal(key: KeyRecord, request: { readonly clientAddress: string }): GatewayError | null {
  if (key.addresses === null && key.inherited.length === 0) return null;
  const address = request.clientAddress;
  const from = address === '' ? 'an unknown address' : address;
  if (!isFrom(key, address)) {
    return new GatewayError('key_disabled', { message: `This API key may not be used from ${from}.` });
  }
  if (key.inherited.every((account) => isFrom(account, address))) return null;
  return new GatewayError('key_disabled', {
    message: `This API key may not be used from ${from}: the limit of this key's account does not allow it.`,
  });
}

function isFrom({ addresses }: Restrictions, address: string): boolean {
  return addresses === null || isInRanges(addresses, address);
}
