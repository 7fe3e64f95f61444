import { runTogether } from '../support/together.ts';

runTogether('test/gateway/requests/*.test.ts');
