/** Responses that the gateway keeps: one of them, read or deleted by the key that received it. */
import { GatewayError } from '../core/conditions.ts';
import { pathParameter } from '../core/endpoints.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticate } from '../exchange/authenticate.ts';
import { type Gateway, storeFailed } from '../exchange/gateway.ts';
import type { ClientRequest } from '../exchange/request.ts';
import type { DeletedResponse } from '../wire/responses/schema.ts';
import { isStorableId, readResponse } from '../wire/responses/stored-items.ts';

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
