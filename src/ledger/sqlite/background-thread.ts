/** The background thread of the store. */
import { parentPort, workerData } from 'node:worker_threads';
import { serveTasks } from './background-tasks.ts';

if (parentPort !== null) serveTasks(parentPort, (workerData as { readonly file: string }).file);
