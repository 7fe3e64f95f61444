/**
 * The advisory locks that gateways take in PostgreSQL: each keeps one thing to one process at a time, by a number of its own.
 * A number never gets another meaning: releases run side by side.
 */
export const ADVISORY_LOCKS = {
  /** Whoever changes the schema of the ledger. "gateway" in hexadecimal, more or less. */
  ledgerMigration: 0x6a7e_3a11,
  /** Whoever adds charges to the usage reports. */
  usageRollup: 0x6a7e_3a12,
  /** Whoever makes or drops partitions of the request log. */
  requestLogTables: 0x6a7e_3a13,
  /** Whoever removes rows of the request log. */
  requestLogPruning: 0x6a7e_3a14,
  /** Whoever changes the schema of operators. */
  operatorMigration: 0x6a7e_3a15,
} as const;
