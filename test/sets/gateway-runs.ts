import { runTogether } from '../support/together.ts';

runTogether('test/gateway/runs/*.test.ts');
