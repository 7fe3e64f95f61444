-- compatible_from 11: an index is in nobody's way.
-- Accounts are listed a page at a time: roots, those directly below an account, and all below it.
CREATE INDEX tree_accounts_by_parent ON tree_accounts (parent_id);
