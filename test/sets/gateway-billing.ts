import { runTogether } from '../support/together.ts';

runTogether('test/gateway/billing/*.test.ts');
