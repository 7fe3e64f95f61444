import { runTogether } from '../support/together.ts';

/** In a process of their own: they measure what its buffers take, which tests before them would still give back. */
runTogether('test/unit/transport/server/http2-abuse.test.ts');
