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
  /** `written`: as the file has it. */
  read(written: Static<Schema> | undefined): Value;
}

type Rows = Readonly<Record<string, Setting<string, TSchema, unknown>>>;

type Schemas<Of extends Rows> = { [Name in keyof Of]: Of[Name]['schema'] };
type ValuesOf<Of extends Rows> = { readonly [Name in keyof Of as Of[Name]['field']]: ReturnType<Of[Name]['read']> };

interface Section<Of extends Rows> {
  readonly properties: Schemas<Of>;
  readonly schema: TOptional<TObject<Schemas<Of>>>;
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
    read: (written = {}) => {
      const given = new Map<string, unknown>(Object.entries(written));
      return Object.fromEntries(
        entries.map(([name, { field, read }]) => [field, read(given.get(name))]),
      ) as ValuesOf<Of>;
    },
  };
}

export function setting<Field extends string, Schema extends TSchema, Value>(
  field: Field,
  schema: Schema,
  read: (written: Static<Schema> | undefined) => Value,
): Setting<Field, Schema, Value> {
  return { field, schema: Type.Optional(schema) as TOptional<Schema>, read };
}

/** `end`: how the description ends after the default. */
export function flag<Field extends string>(field: Field, description: string, fallback: boolean, end = '.') {
  const schema = Type.Boolean({ description: `${description} Default: ${fallback}${end}` });
  return setting(field, schema, (given = fallback) => given);
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

export function count<Field extends string>(field: Field, description: string, fallback: number, range: Range) {
  const schema = Type.Integer({ ...range, description: `${description} Default ${fallback}.`.trimStart() });
  return setting(field, schema, (given = fallback) => given);
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
  return setting(field, schema, (given = fallback) => Math.round(given * unitMs));
}

export function seconds<Field extends string>(
  field: Field,
  description: string,
  fallback: number,
  { minimum = 0.001, maximum = 3_600 }: Partial<Range> = {},
) {
  const schema = Type.Number({ minimum, maximum, description: `${description} Default ${fallback}. In seconds.` });
  return setting(field, schema, (given = fallback) => Math.round(given * 1_000));
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
  return setting(field, Type.Integer({ ...range, description: described }), (given = fallback) => given);
}
