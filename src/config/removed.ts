/**
 * Settings of earlier releases. One without an effect is named by a warning at the start, so that an old environment starts.
 * One is refused only where going on without it would change what requests cost.
 */
import { type Environment, givenVariable } from './secrets.ts';

/** Variables, with the reason why they have no effect. */
const VARIABLES: Readonly<Record<string, string>> = {
  GATEWAY_HTTP: 'there is one way to speak HTTP',
};

/** Keys of the config file that are refused, with what to write instead. */
const REFUSED_KEYS: Readonly<Record<string, string>> = {
  service_tiers: 'say what it costs, e.g. multipliers: { service_tier: { priority: 1.75 } }',
};

export function removedVariables(env: Environment): readonly string[] {
  return Object.entries(VARIABLES).flatMap(([name, reason]) =>
    givenVariable(env, name) === undefined ? [] : [`${name} has no effect any longer: ${reason}`],
  );
}

/** Undefined for a key that no earlier release had. */
export function insteadOfKey(key: string): string | undefined {
  return Object.hasOwn(REFUSED_KEYS, key) ? REFUSED_KEYS[key] : undefined;
}
