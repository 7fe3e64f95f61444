import { runTogether } from '../support/together.ts';

runTogether('test/gateway/upstream/*.test.ts');
