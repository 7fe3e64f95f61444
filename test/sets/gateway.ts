import { runTogether } from '../support/together.ts';

runTogether('test/gateway/*.test.ts');
