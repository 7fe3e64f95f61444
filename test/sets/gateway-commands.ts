import { runTogether } from '../support/together.ts';

/** Those that start most processes take as long as all others of the admin API together. */
runTogether('test/gateway/admin/{cli,init}.test.ts');
