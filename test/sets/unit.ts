import { runTogether } from '../support/together.ts';

runTogether('test/unit/!(alerts|ledger|storage|transport)/**/!(compacting-map).test.ts', 'test/unit/*.test.ts');
