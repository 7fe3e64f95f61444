-- compatible_from 12: an index is in nobody's way.
-- Accounts are listed a page at a time: all, roots, those directly below an account, and all below it.
CREATE INDEX tree_accounts_by_parent ON gateway.tree_accounts (parent_id, created_number);
CREATE INDEX tree_accounts_by_number ON gateway.tree_accounts (created_number);
