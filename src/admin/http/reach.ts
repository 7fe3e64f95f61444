/**
 * How the account is found that an account-admin has to administer: the key, the account or the payer that `:id` names is in
 * its subtree, and otherwise does not exist; `own`: whatever the operation finds or makes is in it (accounts/subtree.ts).
 */
export type Reach = 'key' | 'account' | 'payer' | 'own';
