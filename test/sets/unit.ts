import { runTogether } from '../support/together.ts';

runTogether('test/unit/**/*.test.ts');
