/** The result of `gateway doctor`, as `--json` prints it. */

/** `skipped`: not checked, which is not a problem. */
type State = 'ok' | 'problem' | 'skipped';

export interface Check {
  readonly state: State;
  readonly detail: string;
}

export interface ProbeReport extends Check {
  readonly model: string;
  readonly format: string;
  readonly took_ms: number | null;
}

export interface ProviderReport {
  readonly name: string;
  readonly kind: string;
  readonly base_url: string;
  /** The built-in sandbox, started for this check. */
  readonly simulated: boolean;
  readonly reachable: Check;
  readonly authorised: Check;
  readonly models: Check & { readonly missing: readonly string[] };
  /** How far our clock is ahead of the provider's. */
  readonly clock: Check & { readonly skew_ms: number | null };
  readonly probes: readonly ProbeReport[];
}

export interface ModelReport {
  readonly id: string;
  readonly priced: Check;
  readonly limits: Check;
  readonly targets: Check;
}

export interface Report {
  readonly ok: boolean;
  readonly config: Check;
  readonly data_folder: Check;
  readonly store: Check;
  readonly open_files: Check;
  /** The certificates of the gateway's own listeners. */
  readonly certificates: Check;
  readonly providers: readonly ProviderReport[];
  readonly models: readonly ModelReport[];
  /** One line for each problem: what is wrong, and what to do about it. */
  readonly to_do: readonly string[];
}

export function ok(detail: string): Check {
  return { state: 'ok', detail };
}

export function problem(detail: string): Check {
  return { state: 'problem', detail };
}

export function skipped(detail: string): Check {
  return { state: 'skipped', detail };
}
