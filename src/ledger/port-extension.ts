/** Raising a live hold, as the port of the ledger has it. */

export interface ExtendRequest {
  readonly holdId: string;
  readonly keyId: string;
  /** In all. */
  readonly amount: bigint;
  /** Where the levels leave less than `amount`, as much as they leave will do down to this; `amount` by default. */
  readonly amountMin?: bigint;
  /** For a credit key of an account: the tokens that the amounts stand for. */
  readonly tokens?: bigint;
  readonly tokensMin?: bigint;
}

export type ExtendOutcome =
  | {
      readonly kind: 'extended';
      readonly held: bigint;
      /** Of a key of an account: how many tokens are held. */
      readonly heldTokens?: bigint;
    }
  | { readonly kind: 'insufficient' }
  | { readonly kind: 'temporarily_held' }
  | { readonly kind: 'ended' };
