-- compatible_from 11: a release that does not know the journal leaves it alone, and what is in it then counts no longer.
-- Charges that the journal beside the database has, and the database does not, are of this generation.
CREATE TABLE charge_journal (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  generation INTEGER NOT NULL
) STRICT;

INSERT INTO charge_journal (id, generation) VALUES (1, 0);
