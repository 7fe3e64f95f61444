import { runTogether } from '../support/together.ts';

runTogether('test/gateway/admin/backup.test.ts');
