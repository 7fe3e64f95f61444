import { VIEWERS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import { UsageParameters, UsageReport } from './schema.ts';

export const USAGE_ROUTES = {
  usage: route({
    at: 'GET /usage',
    roles: VIEWERS,
    accountAdmin: 'own',
    summary: 'Requests, tokens, cost, margin and response times, grouped as you ask',
    query: UsageParameters,
    answer: UsageReport,
    handle: (admin, { query }) => admin.usage.report(query),
  }),
};
