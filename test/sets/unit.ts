import { runTogether } from '../support/together.ts';

runTogether('test/unit/**/!(http2-abuse).test.ts');
