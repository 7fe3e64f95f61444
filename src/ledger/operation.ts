/**
 * A row of the table of operations: what an operation takes and gives, in which queue it waits, and whether its outcome waits
 * for the disk. The port's methods, the operations as plain data and the types of their handlers are derived from the rows.
 */

/**
 * None waits behind another. `hot`: what requests wait for. `changes`: what an operator does, and what a request looks up
 * before it is admitted. `reports`: what looks at all keys, so that a key can be revoked meanwhile.
 */
type Queue = 'hot' | 'changes' | 'reports';

/**
 * `durable`: a loss of power may not undo an outcome that was given. `volatile`: the operation only reads, or can be lost
 * without harm.
 */
type Durability = 'durable' | 'volatile';

type AnyCall = (...args: never[]) => unknown;

interface OperationRow<F extends AnyCall = AnyCall, P extends readonly string[] = readonly string[]> {
  readonly queue: Queue;
  readonly durability: Durability;
  /** The names that the arguments have in the operation; `...` for one whose own fields become fields of the operation. */
  readonly parameters: P;
  /** There for its type alone. */
  readonly call?: F;
}

type Names<A extends readonly unknown[]> = { readonly [I in keyof A]: string };
type NamesOf<F extends AnyCall> = Names<Required<Parameters<F>>>;

/** `F` is the call as the store answers it; the names of its arguments follow with `takes`. */
function rowsOf(queue: Queue, durability: Durability) {
  return <F extends AnyCall>() => ({
    takes: <const P extends NamesOf<F>>(...parameters: P): OperationRow<F, P> => ({ queue, durability, parameters }),
  });
}

export const hot = rowsOf('hot', 'volatile');
export const durableHot = rowsOf('hot', 'durable');
export const change = rowsOf('changes', 'durable');
export const lookup = rowsOf('changes', 'volatile');
export const report = rowsOf('reports', 'volatile');

type Rows = Readonly<Record<string, OperationRow>>;

type CallOf<R extends OperationRow> = NonNullable<R['call']>;

/** The method of the port: an operation that gives nothing but null gives nothing. */
type Method<F extends AnyCall> = (
  ...args: Parameters<F>
) => Promise<[ReturnType<F>] extends [null] ? void : ReturnType<F>>;

/** The port's methods of these rows. */
export type MethodsOf<T extends Rows> = { [N in keyof T]: Method<CallOf<T[N]>> };

export type OutcomeOf<R extends OperationRow> = ReturnType<CallOf<R>>;

/** What an operation carries beside its name. */
export type FieldsOf<R extends OperationRow> = Fields<Parameters<CallOf<R>>, R['parameters']>;

type Index<A, P> = keyof A & keyof P & `${number}`;
type Fields<A extends readonly unknown[], P extends readonly string[]> = {
  readonly [I in Index<A, P> as undefined extends A[I] ? never : NameAt<P, I>]: A[I];
} & {
  readonly [I in Index<A, P> as undefined extends A[I] ? NameAt<P, I> : never]?: Exclude<A[I], undefined>;
} & SpreadIn<A, P>;
type NameAt<P extends readonly string[], I extends keyof P> = Exclude<P[I] & string, '...'>;
/** There is at most one. */
type SpreadIn<A extends readonly unknown[], P extends readonly string[]> = '...' extends P[number]
  ? { [I in Index<A, P>]: P[I] extends '...' ? Exclude<A[I], undefined> : never }[Index<A, P>]
  : unknown;

/** The operation for a call with these arguments; what is left out is left out. */
export function operationFor(
  op: string,
  { parameters }: OperationRow,
  args: readonly unknown[],
): { readonly op: string } {
  const fields: Record<string, unknown> = {};
  for (const [index, name] of parameters.entries()) {
    const value = args[index];
    if (name === '...') Object.assign(fields, value);
    else if (value !== undefined) fields[name] = value;
  }
  return { op, ...fields };
}
