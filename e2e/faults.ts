/** What goes wrong for every client, and what its user must be told of it. */
import type { CreatedKey } from '../src/admin/keys/schema.ts';
import type { StartedGateway } from '../test/support/started-gateway.ts';
import type { Task } from './client-program.ts';

export interface Fault {
  readonly name: string;
  /** What must be said of it. */
  readonly words: RegExp;
  readonly credit?: string;
  /** The budget of a token-budget key, where the key is one. */
  readonly budget?: string;
  /** It may pass by itself, so that a client does well to ask again. */
  readonly passes?: boolean;
  /** The answer says how long to wait, and that is longer than anybody looks. */
  readonly waits?: boolean;
  /** What is done to the key before. */
  readonly prepare?: (gateway: StartedGateway, key: CreatedKey) => Promise<unknown>;
  task(key: CreatedKey): Partial<Pick<Task, 'key' | 'model' | 'text' | 'origin' | 'baseUrl'>>;
}

/** The key of a fault, as it is when the client asks. */
export async function faultyKey(gateway: StartedGateway, { credit, budget, prepare }: Fault): Promise<CreatedKey> {
  const created =
    budget === undefined
      ? await gateway.creditKey(credit === undefined ? {} : { credit })
      : await gateway.tokenKey({ budget });
  await prepare?.(gateway, created);
  return created;
}

export const FAULTS: readonly Fault[] = [
  { name: 'a wrong key', words: /API key|malformed|401/i, task: () => ({ key: 'mg_c_wrong' }) },
  {
    name: 'a revoked key',
    words: /revoked|401/i,
    prepare: (gateway, { id }) => gateway.admin.changeKey(id, { status: 'revoked' }),
    task: () => ({}),
  },
  {
    name: 'an expired key',
    words: /expired|403/i,
    prepare: (gateway, { id }) => gateway.admin.changeKey(id, { expires_at: '2020-01-01T00:00:00Z' }),
    task: () => ({}),
  },
  {
    name: 'a model that does not exist',
    words: /not in the catalog|may not exist|does not exist/i,
    task: () => ({ model: 'no/such' }),
  },
  { name: 'no credit left', words: /credit|balance/i, credit: '0', task: () => ({}) },
  { name: 'no token budget left', words: /budget|quota/i, budget: '0', waits: true, task: () => ({}) },
  {
    name: 'a wrong base URL',
    words: /no route|404|not found/i,
    task: ({ origin }) => ({ origin: `${origin}/nowhere`, baseUrl: `${origin}/nowhere/v1` }),
  },
  {
    name: 'the provider is down',
    words: /provider|50[0-9]|overloaded/i,
    passes: true,
    task: () => ({ text: 'Hello [[status=503]]' }),
  },
  {
    name: 'the context is full',
    words: /context|too long/i,
    task: () => ({ model: 'sandbox/tiny', text: 'word '.repeat(6_000) }),
  },
];
