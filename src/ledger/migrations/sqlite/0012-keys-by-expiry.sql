-- compatible_from 11: an index is in nobody's way.
-- Which keys expire next is asked for again and again, by who tells their owners.
CREATE INDEX keys_by_expiry ON keys (expires_at_ms, id) WHERE expires_at_ms IS NOT NULL;
