import { runTogether } from '../support/together.ts';

/** What starts servers and waits for them; beside the other units, because sets that begin last are waited for alone. */
runTogether('test/unit/{alerts,ledger,storage,transport}/**/!(http2-abuse).test.ts');
