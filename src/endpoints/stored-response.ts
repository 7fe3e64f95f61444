/** Responses that the gateway keeps: one of them, read, listed or deleted by the key that received it. */
import { GatewayError } from '../core/conditions.ts';
import { pathParameter } from '../core/endpoints.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticate } from '../exchange/authenticate.ts';
import { type Gateway, storeFailed } from '../exchange/gateway.ts';
import type { ClientRequest } from '../exchange/request.ts';
import type { DeletedResponse, InputItemList } from '../wire/responses/schema.ts';
import { isStorableId, readResponse } from '../wire/responses/stored-items.ts';
import { inputOf, pageOf, readPage } from './input-items.ts';

export async function getResponse(gateway: Gateway, request: ClientRequest): Promise<{ readonly body: object }> {
  const { keyId, id } = await asked(gateway, request);
  const stored = await gateway.ledger.getResponse(keyId, id).catch(storeFailed);
  if (stored === null) throw unknown(id);
  return { body: readResponse(stored.response, stored.output) };
}

export async function deleteResponse(
  gateway: Gateway,
  request: ClientRequest,
): Promise<{ readonly body: DeletedResponse }> {
  const { keyId, id } = await asked(gateway, request);
  if (!(await gateway.ledger.deleteResponse(keyId, id).catch(storeFailed))) throw unknown(id);
  return { body: { id, object: 'response', deleted: true } };
}

/** Only a response that runs in the background could be cancelled, and there is none: the others end with their request. */
export async function cancelResponse(gateway: Gateway, request: ClientRequest): Promise<never> {
  const { keyId, id } = await asked(gateway, request);
  if ((await gateway.ledger.getResponse(keyId, id).catch(storeFailed)) === null) throw unknown(id);
  throw new GatewayError('invalid_request', {
    message: `The response ${JSON.stringify(id)} does not run in the background, so there is nothing to cancel. To stop a response, close its connection.`,
    param: 'id',
  });
}

/** The items that a response was made from, those of the responses that it continues among them, in pages. */
export async function listInputItems(
  gateway: Gateway,
  request: ClientRequest,
): Promise<{ readonly body: InputItemList }> {
  const { keyId, id } = await asked(gateway, request);
  const page = readPage(new URLSearchParams(request.query));
  const { responses, limits } = gateway.policy();
  const renewal = { keyId, keepMs: responses.keepMs, bytesMax: limits.bodyBytes };
  const outcome = await gateway.ledger.findChain(id, renewal).catch(storeFailed);
  if (outcome.kind === 'too_large') {
    const message = `The items of this response have more than ${limits.bodyBytes} bytes: they are not listed.`;
    throw new GatewayError('request_too_large', { message });
  }
  if (outcome.kind !== 'chain') throw unknown(outcome.kind === 'unknown' ? outcome.id : id);
  return { body: pageOf(inputOf(outcome.links), page) };
}

/** The key and the id that the path names. */
async function asked(
  gateway: Gateway,
  request: ClientRequest,
): Promise<{ readonly keyId: string; readonly id: string }> {
  const { key } = await countAgainstRateLimit(gateway, request, await authenticate(gateway, request));
  const id = pathParameter(request.endpoint, request.path);
  if (!isStorableId(id) || !gateway.policy().responses.store) throw unknown(id ?? '');
  return { keyId: key.id, id };
}

function unknown(id: string): GatewayError {
  return new GatewayError('not_found', {
    message: `No response ${JSON.stringify(id.slice(0, 200))} is stored for this key.`,
  });
}
