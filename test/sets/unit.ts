import { runTogether } from '../support/together.ts';

runTogether('test/unit/!(alerts|ledger|storage|transport)/**/*.test.ts', 'test/unit/*.test.ts');
