/**
 * The layout of a stored record: one table of its fields, from which writing, reading, SQL and the schema of its view follow.
 *
 * A record is stored as an array in the order of the table. With names it would be a fifth larger, short as they may be, and
 * take twice the time to write. So a later release may only add fields at the end of a table.
 */
import type { Static, TObject, TProperties, TSchema } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';

/** A kind of value: what it is in the view, and how it is stored. Null is stored as null, whatever the kind. */
interface Kind<Value, Schema extends TSchema> {
  readonly schema: Schema;
  /** Moments are counted from `receivedAt`. */
  readonly write: (value: Value, receivedAt: number) => unknown;
  /** Gets undefined where nothing is stored, as in a record of an earlier release. */
  readonly read: (stored: unknown) => Static<Schema>;
}

/** A property of the view, and what is stored of a `Source` for it. */
interface Field<Source, Schema extends TSchema> {
  readonly schema: Schema;
  readonly cell: (source: Source, receivedAt: number) => unknown;
  readonly read: (stored: unknown) => unknown;
}

type FieldMaker<Source> = <Value, Schema extends TSchema>(
  kind: Kind<Value, Schema>,
  take: (source: Source) => Value | null,
  description?: string,
) => Field<Source, Schema>;

type Fields<Source, Schemas extends TProperties> = { readonly [Name in keyof Schemas]: Field<Source, Schemas[Name]> };

/** The layout of the records that are made from a `Source`. */
export function layoutOf<Source>() {
  return <Schemas extends TProperties>(define: (field: FieldMaker<Source>) => Fields<Source, Schemas>) =>
    new Layout(
      define(({ schema, write, read }, take, description) => ({
        schema: description === undefined ? schema : { ...schema, description },
        cell: (source, receivedAt) => {
          const value = take(source);
          return value === null ? null : write(value, receivedAt);
        },
        read,
      })),
    );
}

class Layout<Source, Schemas extends TProperties> {
  /** What it is in the view. */
  readonly schema: TObject<Schemas>;
  readonly #names: readonly string[];
  readonly #fields: readonly Field<Source, TSchema>[];

  constructor(fields: Fields<Source, Schemas>) {
    this.#names = Object.keys(fields);
    this.#fields = Object.values(fields);
    const schemas = Object.entries<Field<Source, TSchema>>(fields).map(([name, { schema }]) => [name, schema]);
    this.schema = Type.Object(Object.fromEntries(schemas) as Schemas);
  }

  write(source: Source, receivedAt: number): unknown[] {
    return this.#fields.map(({ cell }) => cell(source, receivedAt));
  }

  read(stored: unknown): Static<TObject<Schemas>> {
    const cells = listIn(stored);
    const view: Record<string, unknown> = {};
    for (const [position, name] of this.#names.entries()) view[name] = this.#fields[position]?.read(cells[position]);
    return view as Static<TObject<Schemas>>;
  }

  /** A field of the record that `record` is in SQL, as JSON (`->`) or as text (`->>`). Both engines know these operators. */
  sql(record: string, arrow: '->' | '->>', name: keyof Schemas & string): string {
    return `${record} ${arrow} ${this.#names.indexOf(name)}`;
  }
}

const NullableText = Type.Union([Type.String(), Type.Null()]);
const NullableNumber = Type.Union([Type.Number(), Type.Null()]);
const PRINTABLE = /^[ -~]*$/;

/** A text of the client or the provider may be no well-formed Unicode, and a zero character cannot be stored everywhere. */
export function wellFormed(text: string): string {
  return PRINTABLE.test(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');
}

function itself<Value>(value: Value): Value {
  return value;
}

function numberIn(stored: unknown): number | null {
  return typeof stored === 'number' ? stored : null;
}

function listIn(stored: unknown): readonly unknown[] {
  return Array.isArray(stored) ? stored : [];
}

function kind<Value, Schema extends TSchema>(
  schema: Schema,
  write: Kind<Value, Schema>['write'],
  read: Kind<Value, Schema>['read'],
): Kind<Value, Schema> {
  return { schema, write, read };
}

export const TEXT = kind(NullableText, wellFormed, (stored) => (typeof stored === 'string' ? stored : null));
/** One of the gateway's own words, which is always there. */
export const WORD = kind(Type.String(), itself<string>, (stored) => (typeof stored === 'string' ? stored : ''));
export const NUMBER = kind(NullableNumber, itself<number>, numberIn);
export const WHOLE = kind(Type.Union([Type.Integer(), Type.Null()]), itself<number>, numberIn);
export const COUNT = kind(Type.Integer(), itself<number>, (stored) => numberIn(stored) ?? 0);
/** Stored as 0 or 1. */
export const FLAG = kind(Type.Boolean(), Number, (stored) => stored === 1);

/** Whole and of any size; a text in the view. Stored as a number, which JSON has, where that is exact. */
export const AMOUNT = kind(NullableText, amount, (stored) => (stored == null ? null : String(stored)));
export const RATE = kind(Type.String(), amount, (stored) => String(stored ?? 0));

function amount(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** Milliseconds, stored as whole microseconds. */
export const MOMENT = kind(
  NullableNumber,
  (at: number, receivedAt) => Math.round((at - receivedAt) * 1_000),
  (stored) => (typeof stored === 'number' ? stored / 1_000 : null),
);
export const DURATION = kind(
  Type.Number(),
  (ms: number) => Math.round(ms * 1_000),
  (stored) => (numberIn(stored) ?? 0) / 1_000,
);

export const TEXTS = kind(
  Type.Array(Type.String()),
  (texts: readonly string[]) => (texts.length === 0 ? null : texts.map(wellFormed)),
  (stored) => listIn(stored).map(String),
);

/** An empty list is stored as one: PostgreSQL finds the elements of null to be an error. */
export function listOf<Source, Schemas extends TProperties>(layout: Layout<Source, Schemas>) {
  return kind(
    Type.Array(layout.schema),
    (items: readonly Source[], receivedAt) => items.map((item) => layout.write(item, receivedAt)),
    (stored) => listIn(stored).map((item) => layout.read(item)),
  );
}

export function optional<Source, Schemas extends TProperties>(layout: Layout<Source, Schemas>) {
  return kind(
    Type.Union([layout.schema, Type.Null()]),
    (source: Source, receivedAt) => layout.write(source, receivedAt),
    (stored) => (stored == null ? null : layout.read(stored)),
  );
}
