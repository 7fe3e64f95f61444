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
  const mark = createHmac('sha256', secret).update(`credential mark:${value}`).digest('hex');
  return `set (${mark.slice(0, MARK_CHARACTERS)})`;
}
