/** What the key holder's page shows. Amounts are texts: nanos of a credit, or tokens, whichever the key pays with. Types only. */

export interface KeyholderView {
  readonly key: {
    readonly prefix: string;
    readonly label: string | null;
    readonly mode: 'credit' | 'token_budget';
    readonly status: string;
    readonly rpm_limit: number | null;
    /** Null: every model of its provider scope. */
    readonly models: readonly string[] | null;
    readonly expires_at: string | null;
    readonly period: string;
    readonly period_ends_at: string | null;
  };
  readonly balance: {
    /** Null where nothing limits a token-budget key. */
    readonly all: string | null;
    readonly used: string;
    readonly held: string;
    readonly left: string | null;
    readonly today: string | null;
    /** Whose limit leaves the least. */
    readonly limited_by: 'key' | 'account';
  };
  /** How many requests hold something, on all gateways; `running` are those of them that this process serves. */
  readonly live_holds: number;
  readonly running: readonly {
    readonly id: string;
    readonly model: string;
    readonly streamed: boolean;
    readonly age_ms: number;
    readonly held: string;
  }[];
  /** By day (UTC) and model. */
  readonly usage: readonly {
    readonly day: string;
    readonly model: string | null;
    readonly requests: number;
    readonly charged: string;
    readonly input_tokens: number;
    readonly output_tokens: number;
  }[];
  /** Newest first; null where the operator keeps no log. */
  readonly requests: readonly KeyholderRequest[] | null;
  /** Where clients of each kind send their requests, and a model to begin with. */
  readonly access: { readonly base_url: string; readonly origin: string; readonly model: string };
  readonly session_ends_at: string;
}

/** Of a credit key. `opening` + entries − usage = `closing`. */
export interface KeyholderStatement {
  /** The first day, and the first day after it; in UTC. */
  readonly from: string;
  readonly to: string;
  /** False: the time is not over, and more may come. */
  readonly closed: boolean;
  readonly opening: string;
  readonly closing: string;
  readonly entries: readonly {
    readonly id: string;
    readonly at: string;
    readonly kind: string;
    /** With its sign. */
    readonly amount: string;
    readonly reason: string | null;
    /** The request that was refunded. */
    readonly request_id: string | null;
  }[];
  readonly usage: readonly StatementUsage[];
  /** What an account paid for the key, which is not part of the key's balance; null where it has no account. */
  readonly by_account: readonly StatementUsage[] | null;
}

interface StatementUsage {
  /** Null where nothing is known of the calls. */
  readonly model: string | null;
  readonly charges: number;
  readonly amount: string;
}

export interface KeyholderRequest {
  readonly id: string;
  readonly received_at: string;
  readonly endpoint: string | null;
  readonly model: string | null;
  readonly streamed: boolean;
  readonly status: number | null;
  readonly condition: string | null;
  readonly message: string | null;
  /** What to do about its end; null where that is nothing. */
  readonly advice: string | null;
  readonly charged: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly duration_ms: number;
}
