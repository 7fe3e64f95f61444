import { runTogether } from '../support/together.ts';

runTogether('test/repo/**/*.test.ts', 'test/translate/**/*.test.ts');
