/** Responses that the gateway keeps: one of them, read, listed or deleted by the key that received it. */
import { GatewayError } from '../core/conditions.ts';
import { pathParameter } from '../core/endpoints.ts';
import { countAgainstRateLimit } from '../exchange/admit.ts';
import { authenticate } from '../exchange/authenticate.ts';
import { endRun } from '../exchange/end-run.ts';
import { type Gateway, storeFailed } from '../exchange/gateway.ts';
import type { ClientRequest } from '../exchange/request.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { runLink, runResponse, streamRun } from '../exchange/run-reader.ts';
import { refuse } from '../wire/errors.ts';
import type { DeletedResponse, InputItemList } from '../wire/responses/schema.ts';
import { isStorableId, readResponse } from '../wire/responses/stored-items.ts';
import { inputOf, pageOf, readPage } from './input-items.ts';

interface JsonAnswer<T extends object> {
  readonly body: T;
}

/** Null where `response` has got the events of a run as a stream. */
export async function getResponse(
  gateway: Gateway,
  request: ClientRequest,
  response: ResponseSink,
): Promise<JsonAnswer<object> | null> {
  const { keyId, id } = await asked(gateway, request);
  const query = new URLSearchParams(request.query);
  const stream = query.get('stream') ?? 'false';
  if (stream !== 'true' && stream !== 'false') refuse('stream', 'stream: expected one of true, false.');
  if (stream === 'true') {
    const startingAfter = readNumber(query.get('starting_after'));
    if ((await gateway.ledger.findRun(keyId, { id }).catch(storeFailed)) === null)
      throw await noRun(gateway, keyId, id);
    await streamRun(gateway, { keyId, id }, startingAfter, response);
    return null;
  }
  const stored = await gateway.ledger.getResponse(keyId, id).catch(storeFailed);
  if (stored !== null) return { body: readResponse(stored.response, stored.output) };
  const run = await gateway.ledger.findRun(keyId, { id }).catch(storeFailed);
  if (run === null) throw unknown(id);
  return { body: await runResponse(gateway, keyId, run) };
}

/** The number of an event; -1 where none is given: then the stream begins with the first. */
function readNumber(text: string | null): number {
  if (text === null) return -1;
  if (!/^\d{1,15}$/.test(text)) refuse('starting_after', 'starting_after must be a whole number from 0 up.');
  return Number(text);
}

/** What is answered about a response that is none of a run: there is nothing to be streamed or cancelled. */
async function noRun(gateway: Gateway, keyId: string, id: string, hint = ''): Promise<GatewayError> {
  if ((await gateway.ledger.getResponse(keyId, id).catch(storeFailed)) === null) return unknown(id);
  const message = `The response ${JSON.stringify(id)} was not made in the background${hint || ', so its events are not kept'}.`;
  return new GatewayError('invalid_request', { message, param: 'id' });
}

/** A run that is still going on is cancelled first. */
export async function deleteResponse(gateway: Gateway, request: ClientRequest): Promise<JsonAnswer<DeletedResponse>> {
  const { keyId, id } = await asked(gateway, request);
  const run = await endRun(gateway, keyId, id);
  const stored = await gateway.ledger.deleteResponse(keyId, id).catch(storeFailed);
  if (run !== null) await gateway.ledger.deleteRun(keyId, id).catch(storeFailed);
  if (run === null && !stored) throw unknown(id);
  return { body: { id, object: 'response', deleted: true } };
}

/** Only a response that is made in the background can be cancelled; the others end with their request. */
export async function cancelResponse(gateway: Gateway, request: ClientRequest): Promise<JsonAnswer<object>> {
  const { keyId, id } = await asked(gateway, request);
  const run = await endRun(gateway, keyId, id);
  if (run === null) {
    throw await noRun(gateway, keyId, id, ', so there is nothing to cancel. To stop a response, close its connection');
  }
  return { body: await runResponse(gateway, keyId, run) };
}

/** The items that a response was made from, those of the responses that it continues among them, in pages. */
export async function listInputItems(gateway: Gateway, request: ClientRequest): Promise<JsonAnswer<InputItemList>> {
  const { keyId, id } = await asked(gateway, request);
  const page = readPage(new URLSearchParams(request.query));
  const { responses, limits } = gateway.policy();
  const renewal = { keyId, keepMs: responses.keepMs, bytesMax: limits.bodyBytes };
  let outcome = await gateway.ledger.findChain(id, renewal).catch(storeFailed);
  const run = outcome.kind === 'unknown' && outcome.id === id ? await runLink(gateway, keyId, id) : null;
  if (run !== null && run.parentId === null) return { body: pageOf(inputOf([run]), page) };
  if (run !== null && run.parentId !== null) {
    outcome = await gateway.ledger.findChain(run.parentId, renewal).catch(storeFailed);
    if (outcome.kind === 'chain') outcome = { kind: 'chain', links: [...outcome.links, run] };
  }
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
