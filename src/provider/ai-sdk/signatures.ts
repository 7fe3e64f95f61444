/**
 * Signatures of a provider (of reasoning, and with Gemini of tool calls), which it wants to see again unchanged. They
 * travel through the client as the `encrypted_content` of a reasoning item: a string that clients of every format keep
 * and send back.
 */
import { isObject, type JsonObject, stringAt } from '../../lib/json.ts';
import { parseInner } from '../../wire/json/parse-inner.ts';

/** The signature by the name under which the package looks for it. */
export type Signatures = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Sealed {
  /** The provider that signed, as its package calls it: another one could only refuse what it has not signed. */
  readonly provider: string;
  /** The call that was signed; absent where it was the reasoning itself. */
  readonly callId?: string | undefined;
  readonly signatures: Signatures;
}

const MARK = 'aisdk1.';
const SEALED_VALUES_MAX = 100;
/**
 * The client could change what it sends back, so nothing but signatures is taken: other metadata would be options of
 * the package, such as references to what is stored in the operator's account.
 */
const SIGNATURE_NAME = /signature|redacted/i;

/** Undefined where nothing is signed. */
export function signaturesIn(metadata: unknown): Signatures | undefined {
  if (!isObject(metadata)) return undefined;
  const found: Record<string, Record<string, string>> = Object.create(null);
  for (const [owner, values] of Object.entries(metadata)) {
    if (!isObject(values)) continue;
    for (const [name, value] of Object.entries(values)) {
      if (typeof value !== 'string' || !SIGNATURE_NAME.test(name)) continue;
      found[owner] ??= Object.create(null) as Record<string, string>;
      found[owner][name] = value;
    }
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

export function joinSignatures(one: Signatures | undefined, other: Signatures | undefined): Signatures | undefined {
  if (!one || !other) return one ?? other;
  const owners = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...owners].map((owner) => [owner, { ...one[owner], ...other[owner] }]));
}

export function seal({ provider, callId, signatures }: Sealed): string {
  return MARK + Buffer.from(JSON.stringify({ provider, call_id: callId, signatures })).toString('base64url');
}

/** Undefined for what this side has not sealed. */
export function unseal(encrypted: string | undefined): Sealed | undefined {
  if (!encrypted?.startsWith(MARK)) return undefined;
  const value = parseInner(Buffer.from(encrypted.slice(MARK.length), 'base64url').toString(), SEALED_VALUES_MAX);
  if (!isObject(value)) return undefined;
  return sealed(value);
}

function sealed(value: JsonObject): Sealed | undefined {
  const provider = stringAt(value, 'provider');
  const signatures = signaturesIn(value.signatures);
  if (provider === undefined || !signatures) return undefined;
  return { provider, callId: stringAt(value, 'call_id'), signatures };
}
