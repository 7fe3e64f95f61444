/** The tables of operators and alerts, one text for both engines: each migration only adds to what the ones before have made. */

/** `NUMBERED`: a key that counts up by itself. `KEPT`: what refuses changes of the audit trail. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE @operators (
     id TEXT PRIMARY KEY,
     name TEXT NOT NULL,
     role TEXT NOT NULL,
     account_id TEXT,
     created_at_ms INTEGER NOT NULL,
     revoked_at_ms INTEGER
   ) STRICT;
   CREATE UNIQUE INDEX operators_by_name ON @operators (name) WHERE revoked_at_ms IS NULL;
   INSERT INTO @operators (id, name, role, created_at_ms) VALUES ('owner', 'owner', 'owner', 0);
   CREATE TABLE @operator_credentials (
     id TEXT PRIMARY KEY,
     kind TEXT NOT NULL,
     operator_id TEXT NOT NULL REFERENCES @operators (id),
     digest TEXT NOT NULL UNIQUE,
     label TEXT,
     created_at_ms INTEGER NOT NULL,
     expires_at_ms INTEGER NOT NULL,
     ended_at_ms INTEGER
   ) STRICT;
   CREATE INDEX operator_credentials_by_operator ON @operator_credentials (operator_id);
   CREATE TABLE @audit_trail (
     number NUMBERED,
     at_ms INTEGER NOT NULL,
     actor_id TEXT,
     actor_name TEXT,
     actor_role TEXT,
     actor_account TEXT,
     via TEXT,
     action TEXT NOT NULL,
     target TEXT,
     outcome TEXT NOT NULL,
     reason TEXT,
     state_before TEXT,
     state_after TEXT,
     address TEXT,
     user_agent TEXT,
     request_id TEXT
   ) STRICT;
   CREATE INDEX audit_trail_by_target ON @audit_trail (target, number);
   KEPT
   CREATE TABLE @operator_replies (
     name TEXT PRIMARY KEY,
     fingerprint TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     reply TEXT
   ) STRICT;
   CREATE INDEX operator_replies_by_time ON @operator_replies (at_ms);`,
  `CREATE TABLE @alerts (
     number NUMBERED,
     id TEXT NOT NULL,
     target TEXT NOT NULL,
     type TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     body TEXT NOT NULL,
     state TEXT NOT NULL,
     attempts INTEGER NOT NULL,
     due_at_ms INTEGER NOT NULL,
     leased_until_ms INTEGER NOT NULL,
     error TEXT,
     UNIQUE (id, target)
   ) STRICT;
   CREATE INDEX alerts_due ON @alerts (due_at_ms) WHERE state = 'pending';
   CREATE TABLE @alert_bases (subject TEXT PRIMARY KEY, purchased TEXT NOT NULL, used TEXT NOT NULL) STRICT;
   CREATE TABLE @account_webhooks (account_id TEXT PRIMARY KEY, url TEXT NOT NULL, sealed_secret TEXT NOT NULL) STRICT;
   CREATE TABLE @alert_watch (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, until_ms INTEGER NOT NULL) STRICT;`,
  `ALTER TABLE @operator_credentials ADD COLUMN made_with TEXT;
   CREATE TABLE @operator_settings (
     subject TEXT NOT NULL,
     field TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (subject, field)
   ) STRICT;
   CREATE TABLE @ended_page_sessions (id TEXT PRIMARY KEY, ends_at_ms INTEGER NOT NULL) STRICT;`,
  `CREATE TABLE @definitions (
     kind TEXT NOT NULL,
     name TEXT NOT NULL,
     definition TEXT,
     version INTEGER NOT NULL,
     changed_at_ms INTEGER NOT NULL,
     changed_by TEXT NOT NULL,
     PRIMARY KEY (kind, name)
   ) STRICT;
   CREATE TABLE @definition_readers (id TEXT PRIMARY KEY, revision INTEGER NOT NULL, beat INTEGER NOT NULL) STRICT;`,
  `CREATE INDEX alerts_waiting ON @alerts (due_at_ms) WHERE state IN ('pending', 'queued');
   CREATE TABLE @alert_results (
     target TEXT PRIMARY KEY,
     delivered_at_ms INTEGER,
     failed_at_ms INTEGER,
     error TEXT
   ) STRICT;
   CREATE TABLE @account_receivers (
     id TEXT PRIMARY KEY,
     account_id TEXT NOT NULL,
     kind TEXT NOT NULL,
     shown TEXT NOT NULL,
     sealed_address TEXT NOT NULL
   ) STRICT;
   CREATE INDEX account_receivers_by_account ON @account_receivers (account_id);`,
  // Of indexes that are equally good for all that SQLite knows it takes the last: the one of targets has the fewest entries of each.
  `CREATE INDEX audit_trail_by_actor ON @audit_trail (actor_id, number);
   CREATE INDEX audit_trail_not_done ON @audit_trail (outcome, number) WHERE outcome <> 'done';
   CREATE INDEX audit_trail_by_action ON @audit_trail (action, number);
   DROP INDEX @audit_trail_by_target;
   CREATE INDEX audit_trail_by_target ON @audit_trail (target, number);`,
];

const KEPT_IN_SQLITE = `CREATE TRIGGER audit_trail_no_update BEFORE UPDATE ON audit_trail BEGIN SELECT raise(ABORT, 'the audit trail is append-only'); END;
   CREATE TRIGGER audit_trail_no_delete BEFORE DELETE ON audit_trail BEGIN SELECT raise(ABORT, 'the audit trail is append-only'); END;`;

const KEPT_IN_POSTGRES = `CREATE FUNCTION gateway.audit_trail_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
   CREATE TRIGGER audit_trail_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON gateway.audit_trail
     FOR EACH STATEMENT EXECUTE FUNCTION gateway.audit_trail_is_append_only();`;

export const SQLITE_MIGRATIONS = MIGRATIONS.map((sql) =>
  sql
    .replaceAll('@', '')
    .replaceAll('NUMBERED', 'INTEGER PRIMARY KEY AUTOINCREMENT')
    .replace('KEPT', () => KEPT_IN_SQLITE),
);

export const POSTGRES_MIGRATIONS = MIGRATIONS.map((sql) =>
  sql
    .replaceAll('@', 'gateway.')
    .replaceAll(') STRICT;', ');')
    .replaceAll('INTEGER', 'bigint')
    .replaceAll('NUMBERED', 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY')
    .replace('KEPT', () => KEPT_IN_POSTGRES),
);
