import { OPERATORS, VIEWERS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import {
  RequestContent,
  RequestExplanation,
  RequestList,
  RequestSearch,
  RunningRequestList,
  StoppedRequest,
  StoppedRequests,
} from './schema.ts';

export const REQUEST_ROUTES = {
  listRequests: route({
    at: 'GET /requests',
    roles: VIEWERS,
    accountAdmin: 'own',
    summary: 'Requests of the log, newest first',
    query: RequestSearch,
    answer: RequestList,
    handle: (admin, { query }) => admin.requests.list(query, Date.now()),
  }),
  runningRequests: route({
    at: 'GET /requests/running',
    roles: VIEWERS,
    accountAdmin: 'own',
    summary: 'Requests that run now, with what they hold',
    answer: RunningRequestList,
    handle: async (admin) => ({ object: 'list' as const, data: await admin.requests.running() }),
  }),
  stopRequest: route({
    at: 'DELETE /requests/running/:id',
    roles: OPERATORS,
    accountAdmin: 'own',
    action: 'request.stop',
    summary: 'Stop a running request; what was produced is charged',
    answer: StoppedRequest,
    handle: (admin, { id }) => admin.stopRequest(id),
  }),
  stopKey: route({
    at: 'DELETE /keys/:id/requests/running',
    roles: OPERATORS,
    accountAdmin: 'key',
    action: 'key.stop',
    recorded: { after: ({ stopped }) => ({ stopped }) },
    summary: 'Stop all running requests of a key; what was produced is charged',
    answer: StoppedRequests,
    handle: (admin, { id }) => admin.stopKey(id),
  }),
  requestContent: route({
    at: 'GET /requests/:id/content',
    roles: OPERATORS,
    // Who read what somebody asked and was answered is kept, as who turned its capture on.
    action: 'request.content',
    summary: 'The captured content of a request',
    answer: RequestContent,
    handle: (admin, { id }) => admin.requests.content(id),
  }),
  showRequest: route({
    at: 'GET /requests/:id',
    roles: VIEWERS,
    accountAdmin: 'own',
    summary: 'One request, with an explanation in plain words and what was done about it since',
    answer: RequestExplanation,
    handle: (admin, { id }) => admin.showRequest(id),
  }),
};
