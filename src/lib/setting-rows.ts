/**
 * Settings of a file that are described once: a row says how the file writes one, what the program calls it, and what counts
 * where it is not given. The schema of a section, the type of what is read and its reader are made from the rows.
 */
import type { Static, TObject, TOptional, TSchema } from 'typebox';
import { Type } from './schema-builder.ts';

export const closed = { additionalProperties: false };

/** Editors show `patternErrorMessage`, and so does the loader. */
export function text(pattern: string, allowed: string, description: string) {
  return Type.String({ pattern, patternErrorMessage: `must be ${allowed}`, description });
}

interface Setting<Field extends string, Schema extends TSchema, Value> {
  readonly field: Field;
  readonly schema: TOptional<Schema>;
  /** What counts where the file has none, as it would be written there; undefined where nothing does. */
  readonly fallback: unknown;
  /** `written`: as the file has it. */
  read(written: Static<Schema> | undefined): Value;
}

type Rows = Readonly<Record<string, Setting<string, TSchema, unknown>>>;

type Schemas<Of extends Rows> = { [Name in keyof Of]: Of[Name]['schema'] };
type ValuesOf<Of extends Rows> = { readonly [Name in keyof Of as Of[Name]['field']]: ReturnType<Of[Name]['read']> };

interface Section<Of extends Rows> {
  readonly properties: Schemas<Of>;
  readonly schema: TOptional<TObject<Schemas<Of>>>;
  /** As the file would write them. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** The defaults, where the file has none of it. */
  read(written?: object): ValuesOf<Of>;
}

/** What is read of a section. */
export type Values<Of extends Section<Rows>> = ReturnType<Of['read']>;

export function section<const Of extends Rows>(rows: Of, options: { readonly description?: string } = {}): Section<Of> {
  const entries = Object.entries(rows);
  const properties = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])) as Schemas<Of>;
  return {
    properties,
    schema: Type.Optional(Type.Object(properties, { ...closed, ...options })),
    defaults: Object.fromEntries(entries.map(([name, { fallback }]) => [name, fallback])),
    read: (written = {}) => {
      const given = new Map<string, unknown>(Object.entries(written));
      return Object.fromEntries(
        entries.map(([name, { field, read }]) => [field, read(given.get(name))]),
      ) as ValuesOf<Of>;
    },
  };
}

export function setting<Field extends string, Schema extends TSchema, const Fallback, Value>(
  field: Field,
  schema: Schema,
  fallback: Fallback,
  read: (given: Static<Schema> | Fallback) => Value,
): Setting<Field, Schema, Value> {
  return {
    field,
    schema: Type.Optional(schema) as TOptional<Schema>,
    fallback,
    read: (written) => read(written === undefined ? fallback : written),
  };
}

/** `end`: how the description ends after the default. */
export function flag<Field extends string>(field: Field, description: string, fallback: boolean, end = '.') {
  const schema = Type.Boolean({ description: `${description} Default: ${fallback}${end}` });
  return setting(field, schema, fallback, (given) => given);
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

export function count<Field extends string>(field: Field, description: string, fallback: number, range: Range) {
  const schema = Type.Integer({ ...range, description: `${description} Default ${fallback}.`.trimStart() });
  return setting(field, schema, fallback, (given) => given);
}

/** The file has it in a unit of its own, the program in milliseconds. */
export function duration<Field extends string>(
  field: Field,
  description: string,
  fallback: number,
  unitMs: number,
  range: Range,
) {
  const schema = Type.Number({ ...range, description: `${description} Default ${fallback}.` });
  return setting(field, schema, fallback, (given) => Math.round(given * unitMs));
}

export function seconds<Field extends string>(
  field: Field,
  description: string,
  fallback: number,
  { minimum = 0.001, maximum = 3_600 }: Partial<Range> = {},
) {
  const schema = Type.Number({ minimum, maximum, description: `${description} Default ${fallback}. In seconds.` });
  return setting(field, schema, fallback, (given) => Math.round(given * 1_000));
}

const UNITS = ['', ' KiB', ' MiB', ' GiB'] as const;

export function bytes<Field extends string>(
  field: Field,
  description: string,
  fallback: number,
  range: Range,
  end = '.',
) {
  const unit = Math.floor(Math.log2(fallback) / 10);
  const described = `${description} Default ${fallback / 1_024 ** unit}${UNITS[unit]}${end}`;
  return setting(field, Type.Integer({ ...range, description: described }), fallback, (given) => given);
}
