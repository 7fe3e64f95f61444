/** What a gateway says of itself, and what it can be asked to check or to try. */

import { MODEL_LISTS_DOCUMENT } from '../../config/model-lists.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { Audits } from '../../ledger/audits.ts';
import type { AuditReport, LedgerAdmin } from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import type { View } from '../http/view.ts';
import type { Playground } from './playground.ts';
import type {
  AuditView,
  Configuration,
  DoctorReportView,
  LastAuditView,
  ModelLists,
  ModelListsRefresh,
  ModelStateView,
  ProviderStateView,
  SettingView,
  TargetTestBody,
  TargetTestView,
} from './schema.ts';

export interface StateOptions {
  /** Absent where no gateway is running. */
  readonly gateway?: RunningGatewayState;
  /** Absent where no gateway is running. */
  readonly playground?: Playground;
  /** Without it what came of an audit is not kept. */
  readonly audits?: Audits;
  /** Whether the running gateway takes requests; absent where none runs. */
  ready?(): Promise<boolean>;
  /** The metrics of the running gateway, as Prometheus reads them; absent where none runs. */
  metrics?(): Promise<string>;
  /** Asks the providers for their model lists and stores them. */
  refreshModelLists?(): Promise<View<typeof ModelListsRefresh>>;
}

/** What only a running gateway can say of itself, or do. */
export interface RunningGatewayState {
  /** Of the environment, without secrets. */
  settings(): readonly SettingView[];
  configuration(): View<typeof Configuration>;
  inspect(): Promise<{
    readonly models: readonly ModelStateView[];
    readonly providers: readonly ProviderStateView[];
    readonly settings: readonly SettingView[];
  }>;
  /** False where no request with this id is running. */
  stopRequest(requestId: string): Promise<boolean>;
  doctor(probes: boolean): Promise<DoctorReportView>;
  testTarget(target: View<typeof TargetTestBody>): Promise<TargetTestView>;
}

export class StateService {
  readonly #options: StateOptions;
  readonly #ledger: Pick<LedgerAdmin, 'audit' | 'getDocument'>;

  constructor(options: StateOptions, ledger: Pick<LedgerAdmin, 'audit' | 'getDocument'>) {
    this.#options = options;
    this.#ledger = ledger;
  }

  get gateway(): RunningGatewayState {
    return running(this.#options.gateway);
  }

  get playground(): Playground {
    return running(this.#options.playground);
  }

  /** Whether requests should be sent to this gateway. */
  async ready(): Promise<boolean> {
    return (await this.#options.ready?.()) ?? false;
  }

  async metrics(): Promise<string> {
    const { metrics } = this.#options;
    if (metrics === undefined) throw new AdminError('unavailable', 'there are no metrics without a running gateway');
    return metrics();
  }

  async modelLists(): Promise<View<typeof ModelLists>> {
    const document = await this.#ledger.getDocument(MODEL_LISTS_DOCUMENT);
    return { object: 'model_lists', document: document?.value ?? null };
  }

  async refreshModelLists(): Promise<View<typeof ModelListsRefresh>> {
    const { refreshModelLists } = this.#options;
    if (refreshModelLists === undefined) throw new AdminError('unavailable', 'providers cannot be asked from here');
    return refreshModelLists();
  }

  async audit(): Promise<AuditView> {
    const { audits } = this.#options;
    return auditView(await (audits === undefined ? this.#ledger.audit() : audits.run()));
  }

  async lastAudit(): Promise<LastAuditView> {
    const { audits } = this.#options;
    const last = (await audits?.read()) ?? null;
    const everyMs = audits?.everyMs ?? null;
    return {
      every_hours: everyMs === null ? null : everyMs / HOUR_MS,
      last: last && { at: new Date(last.atMs).toISOString(), ...figuresOf(last), finding_count: last.findingCount },
    };
  }
}

function running<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new AdminError('unavailable', 'no gateway is running here');
  return part;
}

export function auditView(report: AuditReport): AuditView {
  return { ...figuresOf(report), flagged_charges: [...report.flaggedCharges] };
}

function figuresOf({ ok, keys, entries, liveHolds, flagged, findings }: Omit<AuditReport, 'flaggedCharges'>) {
  return { ok, keys, entries, live_holds: liveHolds, flagged, findings };
}
