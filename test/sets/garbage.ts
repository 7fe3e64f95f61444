import { runTogether } from '../support/together.ts';

/** In a process of its own: it measures what a collection of garbage leaves, which depends on the heap that other tests made. */
runTogether('test/unit/lib/compacting-map.test.ts');
