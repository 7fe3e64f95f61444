-- Whether the last extension of the hold failed only because of what other holds reserve.
ALTER TABLE holds ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0 CHECK (waiting IN (0, 1));
