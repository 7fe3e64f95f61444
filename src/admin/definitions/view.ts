/** Definitions as operators see them: without what is secret in them. */
import { createHmac } from 'node:crypto';
import type { DefinitionState, StoredDefinition } from '../../core/definition.ts';
import { isObject } from '../../lib/json.ts';
import type { DefinitionView } from './schema.ts';

/** Fields whose values, or the values in them, are secret or may be. */
const SECRET: ReadonlySet<string> = new Set(['api_key', 'api_keys', 'headers']);
const REFERENCE = /^\$\{[^}]+\}$/;
const MARK_CHARACTERS = 8;

export function definitionView(
  { kind, name, definition, version, changedAtMs, changedBy }: StoredDefinition,
  { state, problem }: Pick<DefinitionState, 'state' | 'problem'>,
  secret: string,
): DefinitionView {
  return {
    kind,
    name,
    state,
    problem,
    definition: Object.fromEntries(
      Object.entries(definition ?? {}).map(([field, value]) => [
        field,
        SECRET.has(field) ? hidden(value, secret) : value,
      ]),
    ),
    version,
    changed_at: new Date(changedAtMs).toISOString(),
    changed_by: changedBy,
  };
}

/** A reference says where the secret is, and nothing of it. The mark tells one secret from another, to nobody else. */
function hidden(value: unknown, secret: string): unknown {
  if (Array.isArray(value)) return value.map((item) => hidden(item, secret));
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hidden(member, secret)]));
  }
  if (typeof value !== 'string' || REFERENCE.test(value)) return value;
  return markOf(value, secret);
}

function markOf(value: string, secret: string): string {
  const digest = createHmac('sha256', secret).update(`credential mark:${value}`).digest('hex');
  return `set (${digest.slice(0, MARK_CHARACTERS)})`;
}

/** Whoever sends back what was shown means what is stored: a mark is never a value. */
export function withStoredSecrets(
  fields: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
  secret: string,
): Readonly<Record<string, unknown>> {
  const values = new Map(
    [...SECRET].flatMap((field) => textsIn(stored[field])).map((value) => [markOf(value, secret), value]),
  );
  const restored = (value: unknown): unknown => {
    if (typeof value === 'string') return values.get(value) ?? value;
    if (Array.isArray(value)) return value.map(restored);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, restored(member)]));
  };
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, SECRET.has(field) ? restored(value) : value]),
  );
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
