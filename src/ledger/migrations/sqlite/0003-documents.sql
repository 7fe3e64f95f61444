-- What all gateways on this store share beside keys and entries, as named JSON documents: what providers say of their models.
CREATE TABLE documents (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;
