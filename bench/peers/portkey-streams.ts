/**
 * Preloaded into Portkey 1.15.2. With the @hono/node-server that npm resolves for it, that version answers every stream with
 * a 500: it appends headers to a copy of fetch's response that shares its immutable headers. A response with headers of
 * its own lets it stream; whole answers do not come this way.
 */
const nativeFetch = globalThis.fetch;
const NativeResponse = globalThis.Response;

globalThis.fetch = async (input, init) => {
  const response = await nativeFetch(input, init);
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  return new NativeResponse(response.body, { status: response.status, headers: new Headers(response.headers) });
};
