/** A provider or a model as somebody has defined it: in the config file, or by the admin API in the shape of the config file. */

export type DefinitionKind = 'provider' | 'model';

/** Where a provider or a model in use comes from. */
export type DefinedBy = 'file' | 'api' | 'environment' | 'sandbox';

/** One that an operator has defined, as it is kept for all gateways on the store. */
export interface StoredDefinition {
  readonly kind: DefinitionKind;
  /** Of a model its id. */
  readonly name: string;
  /** What the config file would say; null where it cannot be read, because it was sealed with another secret. */
  readonly definition: Readonly<Record<string, unknown>> | null;
  /** Grows with every change. */
  readonly version: number;
  readonly changedAtMs: number;
  /** The name of the operator. */
  readonly changedBy: string;
}

/** All of them at one moment. */
export interface StoredDefinitions {
  /** Grows with every change of any of them. */
  readonly revision: number;
  readonly list: readonly StoredDefinition[];
}

export const NO_DEFINITIONS: StoredDefinitions = { revision: 0, list: [] };

/**
 * What has become of a stored definition. `shadowed`: the file defines the same name, and counts instead. `refused`: it cannot
 * be used, for example because the file no longer has its provider.
 */
export interface DefinitionState {
  readonly kind: DefinitionKind;
  readonly name: string;
  readonly state: 'in_use' | 'shadowed' | 'refused';
  /** Why it is not in use. */
  readonly problem: string | null;
}
