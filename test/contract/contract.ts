/** What every backend of the ledger promises; run over each of them. */
import { describe } from 'node:test';
import { accountContract } from './contract-account.ts';
import { accountChangeContract } from './contract-account-changes.ts';
import { accountListContract } from './contract-account-list.ts';
import { admissionContract } from './contract-admission.ts';
import { balanceContract } from './contract-balance.ts';
import { claimContract } from './contract-claim.ts';
import { documentContract } from './contract-document.ts';
import { keyContract } from './contract-key.ts';
import { limitsContract } from './contract-limits.ts';
import { moneyContract } from './contract-money.ts';
import { promotionContract } from './contract-promotion.ts';
import { recoveryContract } from './contract-recovery.ts';
import { responseContract } from './contract-response.ts';
import { rollupContract } from './contract-rollups.ts';
import { runContract } from './contract-run.ts';
import { settlementContract } from './contract-settlement.ts';
import { statementContract } from './contract-statement.ts';
import { usageContract } from './contract-usage.ts';
import type { OpenBooks } from './fixtures.ts';

export function ledgerContract(name: string, open: OpenBooks): void {
  describe(`ledger contract on ${name}`, () => {
    describe('keys', () => keyContract(open));
    describe('admission and rate', () => admissionContract(open));
    describe('balance', () => balanceContract(open));
    describe('accounts in a tree', () => {
      accountContract(open);
      accountChangeContract(open);
      accountListContract(open);
    });
    describe('more limits', () => limitsContract(open));
    describe('refunds and corrections', () => moneyContract(open));
    describe('promotional credit', () => promotionContract(open));
    describe('statements', () => statementContract(open));
    describe('claims', () => claimContract(open));
    describe('settlement', () => settlementContract(open));
    describe('responses that are kept', () => responseContract(open));
    describe('runs', () => runContract(open));
    describe('shared documents', () => documentContract(open));
    describe('usage reports', () => {
      usageContract(open);
      rollupContract(open);
    });
    describe('recovery and data lifetime', () => recoveryContract(open));
  });
}
