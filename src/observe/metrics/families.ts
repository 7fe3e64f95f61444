/**
 * Every metric of the gateway: docs/run/observability.md lists the same ones. No label takes what a client can choose freely:
 * models and providers are those of the catalog, conditions those of the error table.
 */

export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds, of a histogram. */
  readonly buckets?: readonly number[];
  /** Each worker has a value of its own, with its number in the label `worker`; all others are sums over the workers. */
  readonly perWorker?: true;
}

/** Whole answers of models take from milliseconds (a cache) to minutes (reasoning). */
const DURATION_S = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640];
const FIRST_BYTE_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 40, 80, 160];
const BETWEEN_CHUNKS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 1, 2.5];
const ADMISSION_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** The ledger counts by the same bounds; a test holds the two against each other. */
const COMMIT_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const BATCH_OPERATIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000];

export const FAMILIES = {
  gateway_requests_total: counter('Requests that have ended.', [
    'endpoint',
    'model',
    'provider',
    'status',
    'condition',
  ]),
  gateway_unauthenticated_requests_total: counter(
    'Requests without a known key; service_unavailable: it could not be looked up.',
    ['condition'],
  ),
  gateway_admissions_total: counter('What became of generation requests with a valid key at their admission.', [
    'outcome',
  ]),
  gateway_attempts_total: counter('Calls to providers, also those for a count of tokens.', [
    'provider',
    'upstream_model',
    'outcome',
    'condition',
  ]),
  gateway_targets_skipped_total: counter('Targets that were not asked in their turn.', ['provider', 'reason']),
  gateway_tokens_total: counter('Tokens by price class.', ['model', 'provider', 'class']),
  gateway_reasoning_tokens_total: counter('The part of the output tokens that was reasoning.', ['model', 'provider']),
  gateway_charged_credits_total: counter('What credit keys were charged.', ['model', 'provider']),
  gateway_charged_tokens_total: counter('What token_budget keys were charged.', ['model', 'provider']),
  gateway_cost_credits_total: counter('The price of what was generated, for keys of both modes.', [
    'model',
    'provider',
  ]),
  gateway_provider_cost_credits_total: counter('What providers charge for the same.', ['model', 'provider']),
  gateway_flagged_charges_total: counter('Charges that an operator should look at.', ['model', 'provider']),
  gateway_charges_clamped_total: counter('Charges of less than was owed: the hold did not cover it.', [
    'model',
    'provider',
  ]),
  gateway_charge_shortfall_credits_total: counter('How much less credit keys were charged than was owed.', [
    'model',
    'provider',
  ]),
  gateway_charge_shortfall_tokens_total: counter('How much less token_budget keys were charged than was owed.', [
    'model',
    'provider',
  ]),
  gateway_usage_counted_total: counter('Charges by tokens that were counted here, by how the call ended.', [
    'model',
    'provider',
    'outcome',
  ]),
  gateway_time_to_first_byte_seconds: histogram(
    'From the arrival of a request to the first content of its answer.',
    ['model', 'provider', 'streamed'],
    FIRST_BYTE_S,
  ),
  gateway_request_duration_seconds: histogram(
    'From the arrival of a request to the last byte of its answer.',
    ['model', 'provider', 'streamed'],
    DURATION_S,
  ),
  gateway_time_between_chunks_seconds: histogram(
    'The mean time between two chunks of a stream; one value for each stream.',
    ['model', 'provider'],
    BETWEEN_CHUNKS_S,
  ),
  gateway_admission_seconds: histogram('From the arrival of a request to its admission.', [], ADMISSION_S),
  gateway_received_bytes_total: counter('Bodies of requests.', ['endpoint']),
  gateway_sent_bytes_total: counter('Bodies of answers.', ['endpoint']),
  gateway_key_requests_total: counter('Requests by key; only with GATEWAY_METRICS_KEYS=on.', ['key']),
  gateway_key_charged_credits_total: counter('Charges by credit key; only with GATEWAY_METRICS_KEYS=on.', ['key']),
  gateway_key_charged_tokens_total: counter('Charges by token_budget key; only with GATEWAY_METRICS_KEYS=on.', ['key']),
  gateway_requests_in_flight: gauge('Requests with a valid key that are being served.', []),
  gateway_holds: gauge('Requests that hold something now.', ['mode']),
  gateway_held_credits: gauge('What they hold on credit keys.', []),
  gateway_held_tokens: gauge('What they hold on token_budget keys.', []),
  gateway_oldest_hold_seconds: gauge('How long the oldest of them has been held; 0 without any.', [], true),
  gateway_circuit_open: gauge('1 while the circuit of a target is open.', ['provider', 'upstream_model'], true),
  gateway_targets_cooling: gauge('Targets of a provider that cool down after a failure.', ['provider'], true),
  gateway_credentials_cooling: gauge('1 while all credentials of a provider are cooling down.', ['provider'], true),
  gateway_connections: gauge('Open connections of clients.', [], true),
  gateway_websockets: gauge('The WebSockets among them.', [], true),
  gateway_websocket_memory_bytes: gauge('What WebSockets remember of their latest responses.', [], true),
  gateway_ledger_batch_operations: histogram(
    'Operations of the ledger that were committed together.',
    [],
    BATCH_OPERATIONS,
  ),
  gateway_ledger_commit_seconds: histogram(
    'From sending a batch to its being durable, of batches in which something waits for the disk.',
    [],
    COMMIT_S,
  ),
  gateway_ledger_failed_batches_total: counter('Batches that the store did not take.', []),
  gateway_ledger_retried_operations_total: counter(
    'Operations of those batches; ends of holds among them are sent again until they are taken.',
    [],
  ),
  gateway_ledger_backlog: gauge(
    'Operations that wait for the store, among them ends of holds that failed and are sent again.',
    [],
  ),
  gateway_request_log_written_total: counter('Requests that the request log has stored.', []),
  gateway_request_log_dropped_total: counter('Requests that it could not take.', []),
  gateway_request_captures_dropped_total: counter('Requests whose content was to be captured, and was not.', []),
  gateway_request_log_failures_total: counter('Batches of it that its store did not take at the first try.', []),
  gateway_request_log_buffered: gauge('Requests that wait to be stored in it.', []),
  gateway_audit_ok: gauge('1 when the last audit found nothing wrong; absent before the first.', []),
  gateway_audit_timestamp_seconds: gauge('When that audit ended.', []),
  gateway_keys_below_cost: gauge(
    'Keys that were charged less today than providers charge; only on the gateway that watches for alerts.',
    [],
  ),
  gateway_clock_jumps_total: counter('How often the clock of the machine jumped ahead by more than a second.', []),
  gateway_clock_ahead_seconds: gauge('How far the time of the gateway is ahead of a clock that was set back.', []),
  gateway_admin_unauthenticated_total: counter(
    'Changes and sign-ins on the admin port that were refused because nobody proved who asks.',
    [],
  ),
  gateway_reload_ok: gauge('0 while a changed config file or certificate cannot be taken into use.', []),
  gateway_config_last_reload_successful: gauge('0 while the config file, as it is now, cannot be taken into use.', []),
  gateway_config_last_reload_success_timestamp_seconds: gauge(
    'When the configuration in use was read from the file.',
    [],
  ),
  gateway_certificate_expiry_timestamp_seconds: gauge('When the certificate of a listener expires.', ['listener']),
  gateway_ready: gauge('1 while /readyz is a 200.', []),
  gateway_data_disk_free_bytes: gauge('Free space where the data folder is.', []),
  gateway_data_disk_bytes: gauge('All space there.', []),
  gateway_workers: gauge('Processes that serve requests.', []),
  gateway_build_info: gauge('Always 1.', ['version', 'node']),
  gateway_event_loop_delay_p50_seconds: gauge('Median delay of the event loop since the last scrape.', [], true),
  gateway_event_loop_delay_p99_seconds: gauge('99th percentile of it.', [], true),
  gateway_event_loop_delay_max_seconds: gauge('The longest of them.', [], true),
  gateway_heap_used_bytes: gauge('Memory that JavaScript objects take.', [], true),
  gateway_heap_limit_bytes: gauge('The most that they may take.', [], true),
  process_cpu_seconds_total: counter('CPU time of all processes of the gateway.', []),
  process_resident_memory_bytes: gauge('Resident memory of all processes of the gateway.', []),
  process_start_time_seconds: gauge('When the process started.', []),
  process_open_fds: gauge('Open file descriptors; absent where the system does not tell.', []),
  process_max_fds: gauge('The limit of them.', []),
} as const satisfies Readonly<Record<string, Family>>;

export type FamilyName = keyof typeof FAMILIES;

export function familyOf(name: FamilyName): Family {
  return FAMILIES[name];
}

function counter<const Labels extends readonly string[]>(help: string, labels: Labels) {
  return { type: 'counter', help, labels } as const;
}

function gauge<const Labels extends readonly string[]>(help: string, labels: Labels, perWorker: true | null = null) {
  return { type: 'gauge', help, labels, ...(perWorker && { perWorker }) } as const;
}

function histogram<const Labels extends readonly string[]>(help: string, labels: Labels, buckets: readonly number[]) {
  return { type: 'histogram', help, labels, buckets } as const;
}
