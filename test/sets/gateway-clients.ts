import { runTogether } from '../support/together.ts';

runTogether('test/gateway/{clients,packages}/*.test.ts');
