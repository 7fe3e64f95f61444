/** What the running gateway says of itself: models, providers, settings, and the report of its checks. */
import { Type } from '../../lib/schema-builder.ts';
import type { View } from '../http/view.ts';

const Text = Type.Union([Type.String(), Type.Null()]);
const Figure = Type.Union([Type.Number(), Type.Null()]);
const origin = {
  source: Type.Enum(['configured', 'listed', 'published', 'assumed'], {
    description: 'The operator, the provider, published data, or a guess where none of these says.',
  }),
  from: Type.String(),
  date: Text,
};
const DefinedBy = Type.Enum(['file', 'api', 'environment', 'sandbox'], {
  description: 'The config file, an operator (see /definitions), a variable of the environment, or the sandbox.',
});
const Limit = Type.Object({ value: Type.Union([Type.Integer(), Type.Null()]), ...origin });

const ModelState = Type.Object(
  {
    id: Type.String(),
    defined_by: DefinedBy,
    display_name: Text,
    provider: Type.String(),
    alias_of: Type.Union([Type.String(), Type.Null()], { description: 'The model of which this is an alias.' }),
    pattern: Type.Union([Type.String(), Type.Null()], {
      description: 'The pattern of the config file that it comes from.',
    }),
    resolves_to: Type.Array(Type.String(), {
      description: 'Where requests go, in order: the provider and the name of the model there.',
    }),
    defaults: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
      description: 'Parameters of requests that do not name them, by their names in the chat format.',
    }),
    public: Type.Boolean(),
    price: Type.Object({
      value: Type.Record(Type.String(), Type.Number(), {
        description: 'USD per million tokens, by class, as charged.',
      }),
      ...origin,
    }),
    markup: Type.Union([Type.Number(), Type.Null()], {
      description:
        'What is charged for input, as a multiple of what the provider charges; null where the provider charges nothing.',
    }),
    price_changes: Type.Array(
      Type.Object({
        from: Type.String(),
        value: Type.Record(Type.String(), Type.Number()),
        markup: Figure,
      }),
      { description: 'Prices that take effect later, in the order of time.' },
    ),
    context_window: Limit,
    max_output_tokens: Limit,
    capabilities: Type.Object({
      tools: Type.Boolean(),
      images: Type.Boolean(),
      reasoning: Type.Boolean(),
      structured_output: Type.Boolean(),
      streaming: Type.Boolean(),
    }),
    targets: Type.Array(
      Type.Object({
        provider: Type.String(),
        upstream_model: Type.String(),
        format: Type.String(),
        weight: Type.Number(),
      }),
    ),
  },
  { title: 'ModelState' },
);

export const ModelStateList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(ModelState) },
  { title: 'ModelStateList' },
);

const TargetState = Type.Object(
  {
    upstream_model: Type.String(),
    models: Type.Array(Type.String(), { description: 'The models of the catalog that it serves.' }),
    circuit: Type.Enum(['closed', 'open', 'due'], { description: 'due: open, and the next call is a probe.' }),
    next_probe_in_ms: Type.Integer(),
    keys_with_open_circuit: Type.Integer({
      description: 'Keys for which it is not called, although it is for others.',
    }),
    cooling_ms: Type.Integer({ description: 'How long it is still tried after the others.' }),
    first_byte_ms: Type.Object({ streamed: Figure, whole: Figure }),
  },
  { title: 'TargetState' },
);

const ProviderState = Type.Object(
  {
    name: Type.String(),
    defined_by: DefinedBy,
    kind: Type.String(),
    base_url: Type.String(),
    formats: Type.Array(Type.String()),
    health: Type.Enum(['ok', 'degraded', 'down']),
    circuit_breaker: Type.Boolean(),
    credentials: Type.Integer({ description: 'How many there are; none is ever shown.' }),
    credentials_cooling: Type.Integer(),
    cooling_ms: Type.Integer({ description: 'Above 0 while every credential is cooling down.' }),
    credential_refused_at: Type.Union([Type.String(), Type.Null()], {
      description: 'When the provider refused a credential last (401 or 403), since the start.',
    }),
    targets: Type.Array(TargetState),
  },
  { title: 'ProviderState' },
);

export const ProviderStateList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(ProviderState) },
  { title: 'ProviderStateList' },
);

const Setting = Type.Object(
  {
    name: Type.String({
      description: 'As it is written: `GATEWAY_PORT` in the environment, `limits.drain` in the config file.',
    }),
    value: Type.Unknown({
      description: 'In the unit in which it is written; null where nothing is set. A secret is shown as "set".',
    }),
    from: Type.Enum(['file', 'environment', 'command_line', 'default']),
  },
  { title: 'SettingInForce' },
);
export type SettingView = View<typeof Setting>;

export const SettingsInForce = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(Setting) },
  { title: 'SettingsInForce' },
);

export const Configuration = Type.Object(
  {
    file: Type.String({ description: 'The config file of this gateway.' }),
    found: Type.Boolean({
      description:
        'Whether there was such a file when what is in use was read: without one, defaults and the environment count.',
    }),
    taken_at: Type.String({ description: 'When what is in use was read from it.' }),
    refused: Type.Array(Type.String(), {
      description: 'Why the file, as it is now, is not in use; empty where it is.',
    }),
  },
  { title: 'Configuration' },
);

export const DoctorBody = Type.Object(
  {
    probes: Type.Optional(
      Type.Boolean({ description: 'Whether to generate a token at each target, which costs money. False by default.' }),
    ),
  },
  { title: 'DoctorRun', additionalProperties: false },
);

export const TargetTestBody = Type.Object(
  { model: Type.String(), provider: Type.String(), upstream_model: Type.String(), format: Type.String() },
  { title: 'TargetTestRun', additionalProperties: false },
);

const check = { state: Type.Enum(['ok', 'problem', 'skipped']), detail: Type.String() };
const Check = Type.Object(check, { title: 'Check' });

const probe = { ...check, model: Type.String(), format: Type.String(), took_ms: Figure };
export const TargetTest = Type.Object(probe, { title: 'TargetTest' });

export const DoctorReport = Type.Object(
  {
    ok: Type.Boolean(),
    config: Check,
    data_folder: Check,
    store: Check,
    open_files: Check,
    certificates: Check,
    providers: Type.Array(
      Type.Object({
        name: Type.String(),
        kind: Type.String(),
        base_url: Type.String(),
        simulated: Type.Boolean(),
        reachable: Check,
        authorised: Check,
        models: Type.Object({ ...check, missing: Type.Array(Type.String()) }),
        clock: Type.Object({ ...check, skew_ms: Figure }),
        probes: Type.Array(Type.Object(probe)),
      }),
    ),
    models: Type.Array(Type.Object({ id: Type.String(), priced: Check, limits: Check, targets: Check })),
    to_do: Type.Array(Type.String(), { description: 'One line for each problem: what to do about it.' }),
  },
  { title: 'DoctorReport' },
);

export const Health = Type.Object({ ok: Type.Boolean(), pid: Type.Integer() }, { title: 'Health' });

export const ModelLists = Type.Object(
  {
    object: Type.Literal('model_lists'),
    document: Type.Union([Type.String(), Type.Null()], {
      description: 'The document in the store, as its text; null where nobody was asked yet.',
    }),
  },
  { title: 'ModelLists' },
);

export const ModelListsRefresh = Type.Object(
  {
    asked: Type.Array(Type.Object({ provider: Type.String(), models: Type.Integer() })),
    failed: Type.Array(Type.Object({ provider: Type.String(), reason: Type.String() })),
  },
  { title: 'ModelListsRefresh' },
);

const FIGURES = {
  ok: Type.Boolean({ description: 'Whether every balance equals the sum of its entries.' }),
  keys: Type.Integer(),
  entries: Type.Integer(),
  live_holds: Type.Integer(),
  flagged: Type.Integer({ description: 'Charges that an operator should look at.' }),
  findings: Type.Array(Type.String()),
};

export const Audit = Type.Object(
  {
    ...FIGURES,
    flagged_charges: Type.Array(Type.String(), {
      description: 'The newest of them, at most 100: when, which request of which key, and why.',
    }),
  },
  { title: 'Audit' },
);

export const LastAudit = Type.Object(
  {
    every_hours: Type.Union([Type.Number(), Type.Null()], {
      description: 'How often the gateway runs an audit by itself; null: never.',
    }),
    last: Type.Union([Type.Object({ at: Type.String(), ...FIGURES, finding_count: Type.Integer() }), Type.Null()], {
      description:
        'The last audit on this store, scheduled or on request; null: none yet. `findings` has the first of `finding_count`.',
    }),
  },
  { title: 'LastAudit' },
);

export type ModelStateView = View<typeof ModelState>;
export type ProviderStateView = View<typeof ProviderState>;
export type TargetStateView = View<typeof TargetState>;
export type TargetTestView = View<typeof TargetTest>;
export type DoctorReportView = View<typeof DoctorReport>;
export type AuditView = View<typeof Audit>;
export type LastAuditView = View<typeof LastAudit>;
