import { runTogether } from '../support/together.ts';

runTogether('test/gateway/admin/!(cli|backup|init).test.ts');
