-- What all gateways on this database share beside keys and entries, as named JSON documents: what providers say of their
-- models.
CREATE TABLE gateway.documents (
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  value text NOT NULL,
  at_ms bigint NOT NULL
);
