/** Every operation of the admin API by its name. */
import { ACCOUNT_ROUTES } from './accounts/routes.ts';
import { ALERT_ROUTES } from './alerts/routes.ts';
import { DEFINITION_ROUTES } from './definitions/routes.ts';
import { KEY_ROUTES } from './keys/routes.ts';
import { MONEY_ROUTES } from './money/routes.ts';
import { OPERATOR_ROUTES } from './operators/routes.ts';
import { REQUEST_ROUTES } from './requests/routes.ts';
import { STATE_ROUTES } from './state/routes.ts';
import { USAGE_ROUTES } from './usage/routes.ts';

export const PREFIX = '/admin/v1';

export const ROUTES = {
  ...KEY_ROUTES,
  ...ACCOUNT_ROUTES,
  ...ALERT_ROUTES,
  ...MONEY_ROUTES,
  ...REQUEST_ROUTES,
  ...USAGE_ROUTES,
  ...STATE_ROUTES,
  ...DEFINITION_ROUTES,
  ...OPERATOR_ROUTES,
};
