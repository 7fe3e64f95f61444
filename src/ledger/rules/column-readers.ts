/** A row of any backend, by the names of its columns. */
export interface ColumnReaders {
  text(column: string): string;
  amount(column: string): bigint;
  isNull(column: string): boolean;
}
