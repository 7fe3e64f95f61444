-- compatible_from 12: an index is in nobody's way.
-- Which keys expire next is asked for again and again, by who tells their owners.
CREATE INDEX accounts_by_expiry ON gateway.accounts (expires_at_ms, key_id) WHERE expires_at_ms IS NOT NULL;
