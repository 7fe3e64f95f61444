/** A responses request with everything in its place that it refers to: stored items, and summaries that were sealed here. */
import type { Policy } from '../core/policy.ts';
import type { ParsedBody } from '../wire/json/parse-request.ts';
import { type Compaction, withSummaries } from '../wire/responses/compaction.ts';
import { type ExpandedRequest, expandReferences } from './expand-references.ts';
import type { Gateway } from './gateway.ts';
import type { ResponseMemory } from './response-memory.ts';

/** What reading a request of this key needs beyond its bytes. */
export interface Expander {
  /** Throws `GatewayError('invalid_request')` that names what cannot be expanded. */
  expand(request: ParsedBody): Promise<ExpandedRequest>;
  readonly seal: Compaction['seal'];
  /** Whether responses are kept here, unless a request says otherwise. */
  readonly stores: boolean;
}

/** `memory`: of the connection that the request has come on, where it has one. */
export function expander(
  { ledger, seals }: Gateway,
  keyId: string,
  policy: Policy,
  memory: ResponseMemory | null = null,
): Expander {
  const own = seals.of(keyId);
  return {
    async expand(parsed) {
      const expanded = await expandReferences(ledger, keyId, policy, parsed, memory);
      const request = withSummaries(expanded.request, (sealed) => own.open(sealed));
      return request === expanded.request ? expanded : { ...expanded, request };
    },
    seal: (summary) => own.seal(summary),
    stores: policy.responses.store,
  };
}
