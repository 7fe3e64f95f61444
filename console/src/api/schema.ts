/** Made by `npm run console:types` from the OpenAPI document of the admin API. Do not edit. */

export interface paths {
  '/admin/v1/accounts': {
    /** Accounts, oldest first */
    get: {
      parameters: {
        query?: {
          /** @description How many accounts a page has; all of them without it. */
          limit?: number;
          /** @description The next_cursor of the page before. */
          cursor?: string;
          status?: 'active' | 'suspended' | 'closed';
          /** @description The id of the account that they are directly below; none: only roots; for an account-admin, its own account. */
          parent?: string;
          /** @description yes: also accounts further down below `parent`. Default no. */
          below?: 'yes' | 'no';
          /** @description A part of the name, the id or the external id, in any case of letters. */
          search?: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AccountList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Create an account */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['NewAccount'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['Account'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}': {
    /** One account with its sums */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Account'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Change the given fields; with If-Match, only if the account has not been changed in the meantime */
    patch: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['AccountChange'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Account'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/corrections': {
    /** Correct a balance: add credits, or subtract credits that are not held */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewCorrection'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['Correction'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/credit': {
    /** Add credit to a root */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewCredit'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Account'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/erase': {
    /** Erase the data of a customer: names and the request log go, the entries of the ledger stay */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['AccountErasure'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['ErasedAccount'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/history': {
    /** What was done to an account, and what was refunded to it, newest first */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Newest first, the last 200; the audit trail has all. */
        200: {
          content: {
            'application/json': components['schemas']['HistoryList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/keys': {
    /** Move a key to the account; its own balance, if any, goes to the root */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['AccountKey'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Account'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/move': {
    /** Move an account below another one of the same root */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['AccountMove'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Account'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/promotions': {
    /** What is left of promotional credit, next to expire first */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['PromotionList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/receivers': {
    /** The receivers of an account, with their last results */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AccountReceiverList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Add a Slack channel or an e-mail address to those that an account is told by */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewAccountReceiver'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['AccountReceiver'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/receivers/{receiver}': {
    /** Remove a Slack channel or an e-mail address of an account */
    delete: {
      parameters: {
        path: {
          id: string;
          receiver: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['RemovedReceiver'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/receivers/{receiver}/test': {
    /** Send a test to a receiver of an account, and report the result */
    post: {
      parameters: {
        path: {
          id: string;
          receiver: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AlertTest'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/statement': {
    /** Opening balance, entries, usage and closing balance of a month or of days; also as CSV or as a page */
    get: {
      parameters: {
        query?: {
          /** @description A month in UTC. Without it, and without from and to: the last full month. */
          month?: string;
          /** @description The first day, in UTC. */
          from?: string;
          /** @description The first day after the period, in UTC. */
          to?: string;
          /** @description Default json. */
          format?: 'json' | 'csv' | 'html';
        };
        path: {
          id: string;
        };
      };
      responses: {
        /** @description The statement, as `format` asks for it. */
        200: {
          headers: {
            /** @description The name of the file, of CSV. */
            'content-disposition'?: string;
          };
          content: {
            'application/json': components['schemas']['Statement'];
            'text/csv': components['schemas']['StatementCsv'];
            'text/html': components['schemas']['StatementPage'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/accounts/{id}/webhook': {
    /** The webhook of an account */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AccountWebhook'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Set the webhook of an account, with a new secret, shown once */
    put: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewAccountWebhook'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AccountWebhook'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Remove the webhook of an account */
    delete: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AccountWebhook'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/alerts': {
    /** Alerts, newest first */
    get: {
      parameters: {
        query?: {
          /** @description Default 50. */
          limit?: number;
          /** @description The next_cursor of the page before. */
          cursor?: string;
          type?:
            | 'usage.level'
            | 'key.expiring'
            | 'circuit.open'
            | 'credential.refused'
            | 'audit.failed'
            | 'charge.shortfall'
            | 'spend.below_cost'
            | 'reload.refused'
            | 'certificate.expiring'
            | 'alert.test';
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AlertList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/alerts/deliveries': {
    /** Deliveries with their results, newest first, including those that were given up */
    get: {
      parameters: {
        query?: {
          /** @description Default 50. */
          limit?: number;
          /** @description The next_cursor of the page before. */
          cursor?: string;
          /** @description dead: it was given up after the last attempt. */
          state?: 'pending' | 'delivered' | 'dead';
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AlertDeliveryList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/alerts/receivers': {
    /** Who is told: receivers of the config file and of accounts, with their last results and what is configured */
    get: {
      parameters: {
        query?: {
          /** @description Accounts with receivers on a page. Default 100. */
          limit?: number;
          /** @description The next_cursor of the page before. */
          cursor?: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AlertReceiverList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/alerts/test': {
    /** Send a test to every receiver of the config file, or to one, and report the results */
    post: {
      parameters: {
        query?: {
          /** @description Only this one, by its target: webhook NAME, slack NAME, email NAME or command of the config file; account ID: the webhook of an account; account ID RECEIVER: another receiver of it. */
          receiver?: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AlertTest'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/audit': {
    /** Recompute every balance from its entries */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Audit'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/audit-trail': {
    /** Who did what, newest first, including refused actions */
    get: {
      parameters: {
        query?: {
          limit?: number;
          cursor?: string;
          /** @description The id of an operator. */
          actor?: string;
          /** @description For example key.create. */
          action?: string;
          /** @description For example the id of a key. */
          target?: string;
          outcome?: 'done' | 'refused' | 'unknown';
          since?: string;
          until?: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['AuditTrailPage'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/audit/last': {
    /** The result of the last audit, and how often audits run */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['LastAudit'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/configuration': {
    /** Whether the config file is in use as it is now */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Configuration'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/definitions': {
    /** Providers and models that operators have defined, beside those of the config file */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['DefinitionList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/doctor': {
    /** Check configuration, providers, models and store */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['DoctorRun'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['DoctorReport'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/health': {
    /** Whether the gateway runs */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Health'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys': {
    /** Keys, newest first */
    get: {
      parameters: {
        query?: {
          /** @description How many keys a page has; all of them without it. */
          limit?: number;
          /** @description The next_cursor of the page before. */
          cursor?: string;
          status?: 'active' | 'suspended' | 'disabled' | 'expired' | 'revoked';
          mode?: 'credit' | 'token_budget';
          /** @description The id of the account that they belong to; none: keys that have none. */
          account?: string;
          /** @description yes: also keys of the accounts below `account`. Default no. */
          below?: 'yes' | 'no';
          /** @description The exact label. */
          label?: string;
          /** @description A part of the label, the id or the beginning of a secret, in any case of letters. */
          search?: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['KeyList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Create a key */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['NewKey'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['CreatedKey'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}': {
    /** One key with its balance */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Key'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Revoke a key */
    delete: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Key'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Change the given fields; with If-Match, only if the key has not been changed in the meantime */
    patch: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['KeyChange'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Key'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/corrections': {
    /** Correct a balance: add credits, or subtract credits that are not held */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewCorrection'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['Correction'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/credit': {
    /** Add credit */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewCredit'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Key'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/history': {
    /** What was done to a key, and what was refunded of its requests, newest first */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Newest first, the last 200; the audit trail has all. */
        200: {
          content: {
            'application/json': components['schemas']['HistoryList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/promotions': {
    /** What is left of promotional credit, next to expire first */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['PromotionList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/requests/running': {
    /** Stop all running requests of a key; what was produced is charged */
    delete: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['StoppedRequests'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/secrets': {
    /** Add a secret to a key; the older ones keep working */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['CreatedKey'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/secrets/{prefix}': {
    /** Revoke one secret of a key that has several */
    delete: {
      parameters: {
        path: {
          id: string;
          prefix: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Key'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/{id}/statement': {
    /** Opening balance, entries, usage and closing balance of a month or of days; also as CSV or as a page */
    get: {
      parameters: {
        query?: {
          /** @description A month in UTC. Without it, and without from and to: the last full month. */
          month?: string;
          /** @description The first day, in UTC. */
          from?: string;
          /** @description The first day after the period, in UTC. */
          to?: string;
          /** @description Default json. */
          format?: 'json' | 'csv' | 'html';
        };
        path: {
          id: string;
        };
      };
      responses: {
        /** @description The statement, as `format` asks for it. */
        200: {
          headers: {
            /** @description The name of the file, of CSV. */
            'content-disposition'?: string;
          };
          content: {
            'application/json': components['schemas']['Statement'];
            'text/csv': components['schemas']['StatementCsv'];
            'text/html': components['schemas']['StatementPage'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/keys/import': {
    /** Create many keys, all or none */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['KeyImport'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['ImportedKeys'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/model-lists': {
    /** The model lists that providers last gave */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['ModelLists'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Ask the providers for their models */
    post: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['ModelListsRefresh'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/models': {
    /** Models in use: price, context window and limits, and where each comes from */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['ModelStateList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Define a model. It is in use on every gateway when the answer comes */
    post: {
      /** @description And the fields of a model: docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean. */
      requestBody: {
        content: {
          'application/json': components['schemas']['NewModel'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/models/{id}': {
    /** One model as an operator has defined it */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Remove a model; requests that are running end as they began */
    delete: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          id: string;
        };
      };
      responses: {
        /** @description `now`: who defines the name instead, where somebody does. */
        200: {
          content: {
            'application/json': components['schemas']['RemovedDefinition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Change the given fields; with If-Match, only if it has not been changed in the meantime */
    patch: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          id: string;
        };
      };
      /** @description The fields that change; null takes one out. docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean. */
      requestBody: {
        content: {
          'application/json': components['schemas']['DefinitionChange'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/models/{id}/prices': {
    /** Set the price or the mark-up of a model, now or from a time on */
    post: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          id: string;
        };
      };
      /** @description What is not given stays as it is. */
      requestBody: {
        content: {
          'application/json': components['schemas']['NewPrice'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/models/{id}/prices/{from}': {
    /** Cancel a price that has not taken effect yet */
    delete: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          id: string;
          from: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/oidc/callback': {
    /** Back from the OpenID Connect provider: a session, or a page that says why not */
    get: {
      responses: {
        /** @description To the console: signed in, with the cookie of the session, or not. */
        302: {
          headers: {
            /** @description `/`, or where nobody was signed in `/#problem=` and one of no_role, revoked, failed. */
            location?: string;
          };
          content: never;
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/oidc/login': {
    /** To the OpenID Connect provider */
    get: {
      responses: {
        /** @description To the page of the provider. */
        302: {
          headers: {
            /** @description Where one signs in. */
            location?: string;
          };
          content: never;
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/operators': {
    /** All operators, oldest first */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['OperatorList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Create an operator with a first token, shown once */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['NewOperator'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['IssuedOperatorToken'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/operators/{id}': {
    /** One operator with its tokens */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Operator'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Revoke an operator, with all tokens and sessions */
    delete: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Operator'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Change the role of an operator */
    patch: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['OperatorChange'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Operator'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/operators/{id}/link': {
    /** Make a link that signs in at the console, once, within 15 minutes */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['SignInLink'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/operators/{id}/tokens': {
    /** Make another token, shown once */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewOperatorToken'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['IssuedOperatorToken'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/operators/{id}/tokens/{token_id}': {
    /** Revoke a token */
    delete: {
      parameters: {
        path: {
          id: string;
          token_id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Operator'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/playground': {
    /** What the playground may still spend today */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['PlaygroundState'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Send a request through the public listener. The answer is that of the listener, with its status in x-playground-status and its request's id in x-playground-request-id */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['PlaygroundRequest'];
        };
      };
      responses: {
        /** @description The answer of the public listener, whatever its status was. */
        200: {
          headers: {
            /** @description The id of the request, where it has one. */
            'x-playground-request-id'?: string;
            /** @description The status of that answer. */
            'x-playground-status'?: number;
          };
          content: {
            'application/json': components['schemas']['PlaygroundAnswer'];
            'text/event-stream': components['schemas']['PlaygroundStream'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/providers': {
    /** Providers with the health, circuit and cool-downs of each target, as the worst of the workers sees it */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['ProviderStateList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Define a provider. It is in use on every gateway when the answer comes */
    post: {
      /** @description And the fields of a provider: docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean. */
      requestBody: {
        content: {
          'application/json': components['schemas']['NewProvider'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/providers/{name}': {
    /** One provider as an operator has defined it, without its credentials */
    get: {
      parameters: {
        path: {
          name: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Remove a provider that no model needs */
    delete: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          name: string;
        };
      };
      responses: {
        /** @description `now`: who defines the name instead, where somebody does. */
        200: {
          content: {
            'application/json': components['schemas']['RemovedDefinition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Change the given fields; with If-Match, only if it has not been changed in the meantime */
    patch: {
      parameters: {
        header?: {
          /** @description The ETag of the version that is to be changed. Where it has been changed since, nothing is done, and the answer is a 412. */
          'if-match'?: string;
        };
        path: {
          name: string;
        };
      };
      /** @description The fields that change; null takes one out. docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean. */
      requestBody: {
        content: {
          'application/json': components['schemas']['DefinitionChange'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Definition'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/requests': {
    /** Requests of the log, newest first */
    get: {
      parameters: {
        query?: {
          /** @description The id of a key. */
          key?: string;
          /** @description As the client named it. */
          model?: string;
          /** @description A part of that name, in any case of letters. */
          model_part?: string;
          /** @description One that was called. */
          provider?: string;
          /** @description The format that the client spoke. */
          format?: 'chat' | 'responses' | 'messages';
          /** @description The client's own id: what it sent as x-request-id or x-client-request-id. */
          client_request_id?: string;
          /** @description A status such as 429, or a class such as 5xx. */
          status?: string;
          /** @description What it failed with, see docs/connect/errors.md; any: whatever that was. */
          condition?:
            | 'any'
            | 'invalid_credentials'
            | 'key_expired'
            | 'key_disabled'
            | 'rate_limit_exceeded'
            | 'balance_temporarily_reserved'
            | 'limit_reached'
            | 'insufficient_credit'
            | 'invalid_request'
            | 'previous_response_not_found'
            | 'websocket_connection_limit_reached'
            | 'model_not_found'
            | 'context_length_exceeded'
            | 'idempotency_in_flight'
            | 'idempotency_conflict'
            | 'provider_unavailable'
            | 'upstream_error'
            | 'upstream_timeout'
            | 'service_unavailable'
            | 'internal_error'
            | 'request_too_large'
            | 'not_found'
            | 'method_not_allowed'
            | 'upgrade_required';
          /** @description A time such as 500ms or 2s. */
          slower_than?: string;
          /** @description In credits. */
          costlier_than?: string;
          /** @description Keys of the account with this id and of those below it; none: keys that have no account. */
          account?: string;
          /** @description no: without the accounts below `account`. Default yes. */
          below?: 'yes' | 'no';
          /** @description An ISO time, or how long ago: 90s, 30m, 24h, 7d. */
          since?: string;
          /** @description An ISO time, or how long ago: 90s, 30m, 24h, 7d. */
          until?: string;
          /** @description `next` of the page before this one. */
          before?: string;
          /** @description Default 50. */
          limit?: number;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['RequestList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/requests/{id}': {
    /** One request, with an explanation in plain words and what was done about it since */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['RequestExplanation'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/requests/{id}/content': {
    /** The captured content of a request */
    get: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['RequestContent'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/requests/{id}/refund': {
    /** Refund what a request was charged, or a part of it, to whoever paid */
    post: {
      parameters: {
        path: {
          id: string;
        };
      };
      requestBody: {
        content: {
          'application/json': components['schemas']['NewRefund'];
        };
      };
      responses: {
        /** @description Default Response */
        201: {
          content: {
            'application/json': components['schemas']['Refund'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/requests/running': {
    /** Requests that run now, with what they hold */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['RunningRequestList'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/requests/running/{id}': {
    /** Stop a running request; what was produced is charged */
    delete: {
      parameters: {
        path: {
          id: string;
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['StoppedRequest'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/requests/stream': {
    /** Requests as they end: server-sent events, each with a Request */
    get: {
      parameters: {
        query?: {
          /** @description The id of a key. */
          key?: string;
          /** @description As the client named it. */
          model?: string;
          /** @description A part of that name, in any case of letters. */
          model_part?: string;
          /** @description One that was called. */
          provider?: string;
          /** @description The format that the client spoke. */
          format?: 'chat' | 'responses' | 'messages';
          /** @description The client's own id: what it sent as x-request-id or x-client-request-id. */
          client_request_id?: string;
          /** @description A status such as 429, or a class such as 5xx. */
          status?: string;
          /** @description What it failed with, see docs/connect/errors.md; any: whatever that was. */
          condition?:
            | 'any'
            | 'invalid_credentials'
            | 'key_expired'
            | 'key_disabled'
            | 'rate_limit_exceeded'
            | 'balance_temporarily_reserved'
            | 'limit_reached'
            | 'insufficient_credit'
            | 'invalid_request'
            | 'previous_response_not_found'
            | 'websocket_connection_limit_reached'
            | 'model_not_found'
            | 'context_length_exceeded'
            | 'idempotency_in_flight'
            | 'idempotency_conflict'
            | 'provider_unavailable'
            | 'upstream_error'
            | 'upstream_timeout'
            | 'service_unavailable'
            | 'internal_error'
            | 'request_too_large'
            | 'not_found'
            | 'method_not_allowed'
            | 'upgrade_required';
          /** @description A time such as 500ms or 2s. */
          slower_than?: string;
          /** @description In credits. */
          costlier_than?: string;
          /** @description Keys of the account with this id and of those below it; none: keys that have no account. */
          account?: string;
          /** @description no: without the accounts below `account`. Default yes. */
          below?: 'yes' | 'no';
          /** @description Only the last so many of each half second, and an event `more` where there were others. Default: all. */
          newest?: number;
        };
      };
      responses: {
        /** @description Requests as they end. */
        200: {
          content: {
            'text/event-stream': components['schemas']['RequestEvents'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/session': {
    /** Who is signed in */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Session'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Sign in: a token for a session */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['SignIn'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['Session'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
    /** Sign out */
    delete: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['SignedOut'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/sessions': {
    /** End all sessions of the caller */
    delete: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['SignedOut'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/settings': {
    /** The settings in force, and where each comes from; without secrets */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['SettingsInForce'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/sign-in': {
    /** Ways to sign in other than with a token */
    get: {
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['SignInWays'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/targets/test': {
    /** Generate a token at one target of a model, which costs a little */
    post: {
      requestBody: {
        content: {
          'application/json': components['schemas']['TargetTestRun'];
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['TargetTest'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
  '/admin/v1/usage': {
    /** Requests, tokens, cost, margin and response times, grouped as you ask */
    get: {
      parameters: {
        query?: {
          /** @description What to group by: day, hour, key, label, account, model, provider, format, separated by commas. Without it, one row for all. */
          by?: string;
          /** @description From the beginning of this hour (for 30d: of this day). Default 30d. */
          since?: string;
          /** @description Up to the end of this hour. Default: now. */
          until?: string;
          /** @description Instead of since and until. Weeks begin on Monday. */
          period?: 'today' | 'yesterday' | 'this_week' | 'last_week' | 'this_month' | 'last_month';
          /** @description Whose days are meant, and times without a zone. Default UTC. */
          time_zone?: string;
          /** @description Only the key with this id. */
          key?: string;
          /** @description Only the keys of the account with this id and of those below it. */
          account?: string;
          /** @description Only keys with this label. */
          label?: string;
          /** @description Only this model. */
          model?: string;
          /** @description Only this provider. */
          provider?: string;
          /** @description Only this format. */
          format?: string;
          /** @description By account: those further down count for theirs of this level. 1: what each customer spent, with all of its teams. */
          level?: number;
          /** @description Only so many groups, those with the most of `order`; days and hours do not make a group. The total is of all. */
          top?: number;
          /** @description What `top` goes by. Default cost. */
          order?: 'cost' | 'requests' | 'tokens' | 'failed';
        };
      };
      responses: {
        /** @description Default Response */
        200: {
          content: {
            'application/json': components['schemas']['UsageReport'];
          };
        };
        /** @description Any error. */
        default: {
          content: {
            'application/json': components['schemas']['Error'];
          };
        };
      };
    };
  };
}

export type webhooks = Record<string, never>;

export interface components {
  schemas: {
    /** Account */
    Account: {
      addresses: string[] | null;
      balance: number | null;
      created_at: string;
      /** @description Everything bought so far; null below a root. */
      credit: number | null;
      credit_cap: {
        amount: number;
        /** @enum {unknown} */
        period: 'day' | 'week' | 'month' | 'none';
      } | null;
      /** @description Credits of the present period of the cap; without a cap, for ever. */
      credit_used: number;
      external_id: string | null;
      id: string;
      /** @description Whether there are accounts below it. */
      is_parent: boolean;
      labels: {
        [key: string]: string;
      };
      live_holds: number;
      models: string[] | null;
      name: string;
      output_limit: number | null;
      parallel_limit: number | null;
      /** @description Null for a root, and for the account of an account-admin. */
      parent: string | null;
      promotional?: components['schemas']['Promotional'];
      reserved: number;
      /** @description The account that pays; for an account-admin, its own. */
      root: string;
      /** @description What the root is called. */
      root_name: string;
      rpm_limit: number | null;
      runs_limit: number | null;
      /** @enum {unknown} */
      status: 'active' | 'suspended' | 'closed';
      token_cap: {
        amount: number;
        /** @enum {unknown} */
        period: 'day' | 'week' | 'month' | 'none';
      } | null;
      tokens_reserved: number;
      /** @description Tokens of the present period of the cap; without a cap, for ever. */
      tokens_used: number;
      tpm_limit: number | null;
      /** @description Credits spent by keys below the account, for ever. */
      used: number;
      /** @description Grows with every change; the ETag is made of it. */
      version: number;
    };
    /** AccountChange */
    AccountChange: {
      /** @description Where requests may come from: IPv4 or IPv6 addresses, or ranges in CIDR notation. */
      addresses?: string[] | 'any' | null;
      /** @description The most credits that may be spent below the account in a period. */
      credit_cap?:
        | {
            /** @description Decimal credits. A string is read exactly, a number by its shortest decimal form. */
            amount: string | number;
            /** @enum {unknown} */
            period: 'day' | 'week' | 'month' | 'none';
          }
        | string
        | null;
      /** @description Your own id for it; no two accounts share one. */
      external_id?: string | '' | null;
      labels?: {
        [key: string]: string;
      };
      /** @description Ids, or patterns in which * stands for any characters. "all" and null: every model. */
      models?: string[] | 'all' | null;
      name?: string;
      /** @description The most tokens of output of one request, as if the model had no more. */
      output_limit?: number | string | 'none' | null;
      /** @description Requests at a time. */
      parallel_limit?: number | string | 'none' | null;
      /** @description Requests per minute. */
      rpm_limit?: number | string | 'none' | null;
      /** @description Background responses at a time. */
      runs_limit?: number | string | 'none' | null;
      /** @enum {unknown} */
      status?: 'active' | 'suspended' | 'closed';
      /** @description The most tokens that may be spent below the account in a period. */
      token_cap?:
        | {
            amount: number | string;
            /** @enum {unknown} */
            period: 'day' | 'week' | 'month' | 'none';
          }
        | string
        | null;
      /** @description Tokens per minute: input when a request is admitted, output when it ends. */
      tpm_limit?: number | string | 'none' | null;
    };
    /** AccountErasure */
    AccountErasure: {
      /** @description The name of the account, so that no other one is erased by mistake. */
      name: string;
    };
    /** AccountKey */
    AccountKey: {
      /** @description Names the transfer of a balance that the key brings along. */
      entry_id?: string;
      /** @description The id of the key. */
      key: string;
    };
    /** AccountList */
    AccountList: {
      data: components['schemas']['Account'][];
      /** @description For the next page; null on the last one. */
      next_cursor: string | null;
      /** @enum {string} */
      object: 'list';
    };
    /** AccountMove */
    AccountMove: {
      parent: string;
    };
    /** AccountReceiver */
    AccountReceiver: {
      account: string;
      address: string | null;
      id: string;
      /** @enum {unknown} */
      kind: 'slack' | 'email';
    };
    /** AccountReceiverList */
    AccountReceiverList: {
      data: components['schemas']['AlertReceiver'][];
      /** @description What can be added: e-mail by operators, where the config file has alerts.smtp. */
      may_add: ('slack' | 'email')[];
      /** @enum {string} */
      object: 'list';
    };
    /** AccountWebhook */
    AccountWebhook: {
      account: string;
      /** @description Signs what is posted. It is shown once, when the webhook is set. */
      secret: string | null;
      url: string | null;
    };
    /** Alert */
    Alert: {
      at: string;
      data: {
        [key: string]: unknown;
      };
      /** @description Sent as webhook-id; the same for the same event. */
      id: string;
      /** @description What happened, in a line. */
      text: string;
      /** @enum {unknown} */
      type:
        | 'usage.level'
        | 'key.expiring'
        | 'circuit.open'
        | 'credential.refused'
        | 'audit.failed'
        | 'charge.shortfall'
        | 'spend.below_cost'
        | 'reload.refused'
        | 'certificate.expiring'
        | 'alert.test';
    };
    /** AlertDelivery */
    AlertDelivery: {
      alert_id: string;
      attempts: number;
      ended_at: string | null;
      /** @description Why the last attempt failed. */
      error: string | null;
      next_attempt_at: string | null;
      raised_at: string;
      /** @enum {unknown} */
      state: 'pending' | 'delivered' | 'dead';
      /** @description webhook NAME, slack NAME, email NAME or command of the config file; account ID: the webhook of an account; account ID RECEIVER: another receiver of it. */
      target: string;
      /** @enum {unknown} */
      type:
        | 'usage.level'
        | 'key.expiring'
        | 'circuit.open'
        | 'credential.refused'
        | 'audit.failed'
        | 'charge.shortfall'
        | 'spend.below_cost'
        | 'reload.refused'
        | 'certificate.expiring'
        | 'alert.test';
    };
    /** AlertDeliveryList */
    AlertDeliveryList: {
      data: components['schemas']['AlertDelivery'][];
      /** @description For the next page; null on the last one. */
      next_cursor: string | null;
      /** @enum {string} */
      object: 'list';
    };
    /** AlertList */
    AlertList: {
      data: components['schemas']['Alert'][];
      enabled: boolean;
      /** @description For the next page; null on the last one. */
      next_cursor: string | null;
      /** @enum {string} */
      object: 'list';
    };
    /** AlertReceiver */
    AlertReceiver: {
      /** @description The account whose it is; null: the operator. */
      account: string | null;
      account_name: string | null;
      /** @description What may be shown of where it leads: of a Slack channel only the host. */
      address: string | null;
      /** @description Of a receiver of an account: to test and to remove it. Of its webhook: webhook. */
      id: string | null;
      /** @enum {unknown} */
      kind: 'webhook' | 'slack' | 'email' | 'command';
      last_delivered_at: string | null;
      last_error: string | null;
      last_failed_at: string | null;
      /** @description In the config file. */
      name: string | null;
      /** @description webhook NAME, slack NAME, email NAME or command of the config file; account ID: the webhook of an account; account ID RECEIVER: another receiver of it. */
      target: string;
      /** @description What it gets; null: all. */
      types: string[] | null;
      /** @description Deliveries that have not ended. */
      waiting: number;
    };
    /** AlertReceiverList */
    AlertReceiverList: {
      credits_left: number[];
      /** @description Those of the config file, on the first page, and of accounts. */
      data: components['schemas']['AlertReceiver'][];
      /** @description Whether the config file has a section alerts. */
      enabled: boolean;
      /** @description Percents of a balance, cap or budget that are told. */
      levels: number[];
      /** @description For the next page; null on the last one. */
      next_cursor: string | null;
      /** @enum {string} */
      object: 'list';
      /** @description How mail leaves; null: it does not, and nobody gets any. */
      smtp: {
        from: string;
        host: string;
        port: number;
        tls: string;
      } | null;
      tokens_left: number[];
    };
    /** AlertTest */
    AlertTest: {
      deliveries: components['schemas']['AlertDelivery'][];
      id: string;
      ok: boolean;
    };
    /** Audit */
    Audit: {
      entries: number;
      findings: string[];
      /** @description Charges that an operator should look at. */
      flagged: number;
      /** @description The newest of them, at most 100: when, which request of which key, and why. */
      flagged_charges: string[];
      keys: number;
      live_holds: number;
      /** @description Whether every balance equals the sum of its entries. */
      ok: boolean;
    };
    /** AuditTrailEntry */
    AuditTrailEntry: {
      action: string;
      actor: {
        id: string;
        name: string;
        /** @enum {unknown} */
        role: 'owner' | 'operator' | 'viewer' | 'account-admin';
        /** @enum {unknown} */
        via: 'token' | 'session' | 'secret' | 'socket' | 'command' | 'process';
      } | null;
      address: string | null;
      /** @description What it was changed to; null where nothing was changed. */
      after: unknown;
      at: string;
      /** @description What differed before; null where there was nothing. */
      before: unknown;
      /** @description Grows with every entry. */
      number: number;
      /**
       * @description unknown: the store failed; look up whether the change was made.
       * @enum {unknown}
       */
      outcome: 'done' | 'refused' | 'unknown';
      reason: string | null;
      request_id: string | null;
      target: string | null;
      user_agent: string | null;
    };
    /** AuditTrailPage */
    AuditTrailPage: {
      data: components['schemas']['AuditTrailEntry'][];
      /** @description For the next page; null on the last one. */
      next_cursor: string | null;
      /** @enum {string} */
      object: 'list';
    };
    /** BudgetKey */
    BudgetKey: {
      /** @description The account that pays for the key. */
      account?: string;
      /** @description What that account is called now; in lists. */
      account_name?: string;
      addresses: string[] | null;
      /** @description For clients of Format A. */
      base_url: string;
      budget: number | null;
      capture_days: number | null;
      created_at: string;
      expires_at: string | null;
      id: string;
      input_tokens: number;
      label: string | null;
      live_holds: number;
      /** @enum {string} */
      mode: 'token_budget';
      models: string[] | null;
      /** @description For clients of Format B, which append /v1/messages themselves. */
      origin: string;
      output_limit: number | null;
      output_tokens: number;
      parallel_limit: number | null;
      /** @enum {unknown} */
      period: 'day' | 'week' | 'month' | 'none';
      period_ends_at: string | null;
      /** @description The beginning of the newest secret, to recognise it by. */
      prefix: string;
      prefixes: string[];
      provider_scope: string;
      remaining: number | null;
      requests: number;
      reserved: number;
      rpm_limit: number | null;
      runs_limit: number | null;
      /** @enum {unknown} */
      status: 'active' | 'suspended' | 'disabled' | 'expired' | 'revoked';
      tpm_limit: number | null;
      used: number;
      /** @description Grows with every change; the ETag is made of it. */
      version: number;
    };
    /** Check */
    Check: {
      detail: string;
      /** @enum {unknown} */
      state: 'ok' | 'problem' | 'skipped';
    };
    /** Configuration */
    Configuration: {
      /** @description The config file of this gateway. */
      file: string;
      /** @description Whether there was such a file when what is in use was read: without one, defaults and the environment count. */
      found: boolean;
      /** @description Why the file, as it is now, is not in use; empty where it is. */
      refused: string[];
      /** @description When what is in use was read from it. */
      taken_at: string;
    };
    /** Correction */
    Correction: {
      amount: number;
      /** @description After it. */
      balance: number;
      entry_id: string;
      /** @enum {string} */
      object: 'correction';
      payer: string;
    };
    /** CreatedBudgetKey */
    CreatedBudgetKey: {
      /** @description The account that pays for the key. */
      account?: string;
      /** @description What that account is called now; in lists. */
      account_name?: string;
      addresses: string[] | null;
      /** @description For clients of Format A. */
      base_url: string;
      budget: number | null;
      capture_days: number | null;
      created_at: string;
      expires_at: string | null;
      id: string;
      input_tokens: number;
      /** @description The key itself. It is shown once, here, and stored nowhere. */
      key: string;
      label: string | null;
      live_holds: number;
      /** @enum {string} */
      mode: 'token_budget';
      models: string[] | null;
      /** @description For clients of Format B, which append /v1/messages themselves. */
      origin: string;
      output_limit: number | null;
      output_tokens: number;
      parallel_limit: number | null;
      /** @enum {unknown} */
      period: 'day' | 'week' | 'month' | 'none';
      period_ends_at: string | null;
      /** @description The beginning of the newest secret, to recognise it by. */
      prefix: string;
      prefixes: string[];
      provider_scope: string;
      remaining: number | null;
      requests: number;
      reserved: number;
      rpm_limit: number | null;
      runs_limit: number | null;
      /** @enum {unknown} */
      status: 'active' | 'suspended' | 'disabled' | 'expired' | 'revoked';
      tpm_limit: number | null;
      used: number;
      /** @description Grows with every change; the ETag is made of it. */
      version: number;
    };
    /** CreatedCreditKey */
    CreatedCreditKey: {
      /** @description The account that pays for the key. */
      account?: string;
      /** @description What that account is called now; in lists. */
      account_name?: string;
      addresses: string[] | null;
      balance: number;
      /** @description For clients of Format A. */
      base_url: string;
      /** @description Of a key of an account. */
      cap?: {
        amount: number;
        /** @enum {unknown} */
        period: 'day' | 'week' | 'month' | 'none';
        used: number;
      };
      capture_days: number | null;
      created_at: string;
      /** @description Everything bought so far. */
      credit: number;
      expires_at: string | null;
      id: string;
      input_tokens: number;
      /** @description The key itself. It is shown once, here, and stored nowhere. */
      key: string;
      label: string | null;
      live_holds: number;
      /** @enum {string} */
      mode: 'credit';
      models: string[] | null;
      /** @description For clients of Format B, which append /v1/messages themselves. */
      origin: string;
      output_limit: number | null;
      output_tokens: number;
      parallel_limit: number | null;
      /** @description The beginning of the newest secret, to recognise it by. */
      prefix: string;
      prefixes: string[];
      promotional?: components['schemas']['Promotional'];
      provider_scope: string;
      remaining: number;
      requests: number;
      reserved: number;
      rpm_limit: number | null;
      runs_limit: number | null;
      /** @enum {unknown} */
      status: 'active' | 'suspended' | 'disabled' | 'expired' | 'revoked';
      today_spend: number;
      tpm_limit: number | null;
      used: number;
      /** @description Grows with every change; the ETag is made of it. */
      version: number;
    };
    /** CreatedKey */
    CreatedKey: components['schemas']['CreatedCreditKey'] | components['schemas']['CreatedBudgetKey'];
    /** CreditKey */
    CreditKey: {
      /** @description The account that pays for the key. */
      account?: string;
      /** @description What that account is called now; in lists. */
      account_name?: string;
      addresses: string[] | null;
      balance: number;
      /** @description For clients of Format A. */
      base_url: string;
      /** @description Of a key of an account. */
      cap?: {
        amount: number;
        /** @enum {unknown} */
        period: 'day' | 'week' | 'month' | 'none';
        used: number;
      };
      capture_days: number | null;
      created_at: string;
      /** @description Everything bought so far. */
      credit: number;
      expires_at: string | null;
      id: string;
      input_tokens: number;
      label: string | null;
      live_holds: number;
      /** @enum {string} */
      mode: 'credit';
      models: string[] | null;
      /** @description For clients of Format B, which append /v1/messages themselves. */
      origin: string;
      output_limit: number | null;
      output_tokens: number;
      parallel_limit: number | null;
      /** @description The beginning of the newest secret, to recognise it by. */
      prefix: string;
      prefixes: string[];
      promotional?: components['schemas']['Promotional'];
      provider_scope: string;
      remaining: number;
      requests: number;
      reserved: number;
      rpm_limit: number | null;
      runs_limit: number | null;
      /** @enum {unknown} */
      status: 'active' | 'suspended' | 'disabled' | 'expired' | 'revoked';
      today_spend: number;
      tpm_limit: number | null;
      used: number;
      /** @description Grows with every change; the ETag is made of it. */
      version: number;
    };
    /** Definition */
    Definition: {
      changed_at: string;
      changed_by: string;
      /** @description As the config file would have it. Of credentials, and of headers, only whether they are set, with a mark that changes with them. */
      definition: {
        [key: string]: unknown;
      };
      /** @enum {unknown} */
      kind: 'provider' | 'model';
      /** @description Of a model its id. */
      name: string;
      /** @description Why it is not in use. */
      problem: string | null;
      /**
       * @description shadowed: the config file defines the same name, and counts instead. refused: it cannot be used as it is.
       * @enum {unknown}
       */
      state: 'in_use' | 'shadowed' | 'refused';
      /** @description Grows with every change; the ETag is made of it. */
      version: number;
    };
    /**
     * DefinitionChange
     * @description The fields that change; null takes one out. docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean.
     */
    DefinitionChange: {
      [key: string]: unknown;
    };
    /** DefinitionList */
    DefinitionList: {
      data: components['schemas']['Definition'][];
      /** @enum {string} */
      object: 'list';
    };
    /** DoctorReport */
    DoctorReport: {
      certificates: components['schemas']['Check'];
      config: components['schemas']['Check'];
      data_folder: components['schemas']['Check'];
      models: {
        id: string;
        limits: components['schemas']['Check'];
        priced: components['schemas']['Check'];
        targets: components['schemas']['Check'];
      }[];
      ok: boolean;
      open_files: components['schemas']['Check'];
      providers: {
        authorised: components['schemas']['Check'];
        base_url: string;
        clock: {
          detail: string;
          skew_ms: number | null;
          /** @enum {unknown} */
          state: 'ok' | 'problem' | 'skipped';
        };
        kind: string;
        models: {
          detail: string;
          missing: string[];
          /** @enum {unknown} */
          state: 'ok' | 'problem' | 'skipped';
        };
        name: string;
        probes: {
          detail: string;
          format: string;
          model: string;
          /** @enum {unknown} */
          state: 'ok' | 'problem' | 'skipped';
          took_ms: number | null;
        }[];
        reachable: components['schemas']['Check'];
        simulated: boolean;
      }[];
      store: components['schemas']['Check'];
      /** @description One line for each problem: what to do about it. */
      to_do: string[];
    };
    /** DoctorRun */
    DoctorRun: {
      /** @description Whether to generate a token at each target, which costs money. False by default. */
      probes?: boolean;
    };
    /** ErasedAccount */
    ErasedAccount: {
      /** @description How many accounts were closed and have no name any more, with those below it. */
      accounts: number;
      id: string;
      /** @description How many keys are revoked. */
      keys: number;
      /** @description Keys that were revoked, and accounts that were closed, before: what is final keeps its name. */
      names_kept: number;
      /** @description How many requests were removed from the log, with what was captured of them. */
      requests: number;
    };
    /**
     * Error
     * @description Any error.
     */
    Error: {
      error: {
        /** @description For programs: what kind of error this is. */
        code: string;
        /** @description The input field that is wrong. */
        field: string | null;
        /** @description For people: what is wrong, and what is expected. */
        message: string;
        request_id: string;
      };
    };
    /** Health */
    Health: {
      ok: boolean;
      pid: number;
    };
    /** HistoryEvent */
    HistoryEvent: {
      /** @description As the audit trail names it: key.change, account.credit, request.refund. */
      action: string;
      /** @description The name of who did it; null for an account-admin. */
      actor: string | null;
      /** @description Of what was booked, in credits with its sign. */
      amount: number | null;
      at: string;
      /** @description What was changed, as JSON text; null where there was nothing. */
      changes: {
        field: string;
        from: string | null;
        to: string | null;
      }[];
      /** @description The note or reason that was given. */
      reason: string | null;
      /** @description The request that was refunded. */
      request_id: string | null;
    };
    /**
     * HistoryList
     * @description Newest first, the last 200; the audit trail has all.
     */
    HistoryList: {
      data: components['schemas']['HistoryEvent'][];
      /** @enum {string} */
      object: 'list';
    };
    /** ImportedKey */
    ImportedKey:
      | {
          /** @description The account that pays for the key. */
          account?: string;
          /** @description What that account is called now; in lists. */
          account_name?: string;
          addresses: string[] | null;
          balance: number;
          /** @description For clients of Format A. */
          base_url: string;
          /** @description Of a key of an account. */
          cap?: {
            amount: number;
            /** @enum {unknown} */
            period: 'day' | 'week' | 'month' | 'none';
            used: number;
          };
          capture_days: number | null;
          created_at: string;
          /** @description Everything bought so far. */
          credit: number;
          expires_at: string | null;
          id: string;
          input_tokens: number;
          /** @description The key itself, shown once and stored nowhere; null where its text was given. */
          key: string | null;
          label: string | null;
          live_holds: number;
          /** @enum {string} */
          mode: 'credit';
          models: string[] | null;
          /** @description For clients of Format B, which append /v1/messages themselves. */
          origin: string;
          output_limit: number | null;
          output_tokens: number;
          parallel_limit: number | null;
          /** @description The beginning of the newest secret, to recognise it by. */
          prefix: string;
          prefixes: string[];
          promotional?: components['schemas']['Promotional'];
          provider_scope: string;
          remaining: number;
          requests: number;
          reserved: number;
          rpm_limit: number | null;
          runs_limit: number | null;
          /** @enum {unknown} */
          status: 'active' | 'suspended' | 'disabled' | 'expired' | 'revoked';
          today_spend: number;
          tpm_limit: number | null;
          used: number;
          /** @description Grows with every change; the ETag is made of it. */
          version: number;
        }
      | {
          /** @description The account that pays for the key. */
          account?: string;
          /** @description What that account is called now; in lists. */
          account_name?: string;
          addresses: string[] | null;
          /** @description For clients of Format A. */
          base_url: string;
          budget: number | null;
          capture_days: number | null;
          created_at: string;
          expires_at: string | null;
          id: string;
          input_tokens: number;
          /** @description The key itself, shown once and stored nowhere; null where its text was given. */
          key: string | null;
          label: string | null;
          live_holds: number;
          /** @enum {string} */
          mode: 'token_budget';
          models: string[] | null;
          /** @description For clients of Format B, which append /v1/messages themselves. */
          origin: string;
          output_limit: number | null;
          output_tokens: number;
          parallel_limit: number | null;
          /** @enum {unknown} */
          period: 'day' | 'week' | 'month' | 'none';
          period_ends_at: string | null;
          /** @description The beginning of the newest secret, to recognise it by. */
          prefix: string;
          prefixes: string[];
          provider_scope: string;
          remaining: number | null;
          requests: number;
          reserved: number;
          rpm_limit: number | null;
          runs_limit: number | null;
          /** @enum {unknown} */
          status: 'active' | 'suspended' | 'disabled' | 'expired' | 'revoked';
          tpm_limit: number | null;
          used: number;
          /** @description Grows with every change; the ETag is made of it. */
          version: number;
        };
    /** ImportedKeys */
    ImportedKeys: {
      /** @description In the order in which they were given; empty for a dry run. */
      data: components['schemas']['ImportedKey'][];
      /** @description How many were created, or could be. */
      keys: number;
      /** @enum {string} */
      object: 'list';
    };
    /** IssuedOperatorToken */
    IssuedOperatorToken: {
      expires_at: string;
      operator: components['schemas']['ListedOperator'];
      /** @description The token itself. It is shown once, here, and stored nowhere. */
      token: string;
      token_id: string;
    };
    /** Key */
    Key: components['schemas']['CreditKey'] | components['schemas']['BudgetKey'];
    /** KeyChange */
    KeyChange: {
      /** @description Where requests may come from: IPv4 or IPv6 addresses, or ranges in CIDR notation. */
      addresses?: string[] | 'any' | null;
      /** @description Tokens per period, for token_budget keys. */
      budget?: number | string | 'unlimited' | null;
      /** @description The most that a credit key of an account may spend in its period. */
      cap?: string | number | null;
      /** @description For how long the content of its requests and responses is kept. "off" and null: it is not. */
      capture_days?: number | string | 'off' | null;
      /** @description ISO 8601; UTC where no zone is given. */
      expires_at?: string | null;
      label?: string | '' | null;
      /** @description Ids, or patterns in which * stands for any characters. "all" and null: every model. */
      models?: string[] | 'all' | null;
      /** @description The most tokens of output of one request, as if the model had no more. */
      output_limit?: number | string | 'none' | null;
      /** @description Requests at a time. */
      parallel_limit?: number | string | 'none' | null;
      /** @enum {unknown} */
      period?: 'day' | 'week' | 'month' | 'none';
      provider_scope?: string;
      /** @description Requests per minute. */
      rpm_limit?: number | string | 'none' | null;
      /** @description Background responses at a time. */
      runs_limit?: number | string | 'none' | null;
      /** @enum {unknown} */
      status?: 'active' | 'suspended' | 'disabled' | 'revoked';
      /** @description Tokens per minute: input when a request is admitted, output when it ends. */
      tpm_limit?: number | string | 'none' | null;
    };
    /** KeyImport */
    KeyImport: {
      /** @description Only check whether they could be created. */
      dry_run?: boolean;
      /** @description Keys as for POST /keys; `account` may also be the external id of an account, and `key` the text of a key that clients have already. */
      keys: unknown[];
    };
    /** KeyList */
    KeyList: {
      data: components['schemas']['Key'][];
      /** @description For the next page; null on the last one. */
      next_cursor: string | null;
      /** @enum {string} */
      object: 'list';
    };
    /** LastAudit */
    LastAudit: {
      /** @description How often the gateway runs an audit by itself; null: never. */
      every_hours: number | null;
      /** @description The last audit on this store, scheduled or on request; null: none yet. `findings` has the first of `finding_count`. */
      last: {
        at: string;
        entries: number;
        finding_count: number;
        findings: string[];
        /** @description Charges that an operator should look at. */
        flagged: number;
        keys: number;
        live_holds: number;
        /** @description Whether every balance equals the sum of its entries. */
        ok: boolean;
      } | null;
    };
    /** ListedOperator */
    ListedOperator: {
      account_id: string | null;
      /** @description The owner that the admin secret and the Unix socket act as. */
      built_in: boolean;
      created_at: string | null;
      id: string;
      name: string;
      /** @enum {unknown} */
      role: 'owner' | 'operator' | 'viewer' | 'account-admin';
      /** @enum {unknown} */
      status: 'active' | 'revoked';
    };
    /** ModelLists */
    ModelLists: {
      /** @description The document in the store, as its text; null where nobody was asked yet. */
      document: string | null;
      /** @enum {string} */
      object: 'model_lists';
    };
    /** ModelListsRefresh */
    ModelListsRefresh: {
      asked: {
        models: number;
        provider: string;
      }[];
      failed: {
        provider: string;
        reason: string;
      }[];
    };
    /** ModelState */
    ModelState: {
      /** @description The model of which this is an alias. */
      alias_of: string | null;
      capabilities: {
        images: boolean;
        reasoning: boolean;
        streaming: boolean;
        structured_output: boolean;
        tools: boolean;
      };
      context_window: {
        date: string | null;
        from: string;
        /**
         * @description The operator, the provider, published data, or a guess where none of these says.
         * @enum {unknown}
         */
        source: 'configured' | 'listed' | 'published' | 'assumed';
        value: number | null;
      };
      /** @description Parameters of requests that do not name them, by their names in the chat format. */
      defaults: {
        [key: string]: unknown;
      } | null;
      /**
       * @description The config file, an operator (see /definitions), a variable of the environment, or the sandbox.
       * @enum {unknown}
       */
      defined_by: 'file' | 'api' | 'environment' | 'sandbox';
      display_name: string | null;
      id: string;
      /** @description What is charged for input, as a multiple of what the provider charges; null where the provider charges nothing. */
      markup: number | null;
      max_output_tokens: {
        date: string | null;
        from: string;
        /**
         * @description The operator, the provider, published data, or a guess where none of these says.
         * @enum {unknown}
         */
        source: 'configured' | 'listed' | 'published' | 'assumed';
        value: number | null;
      };
      /** @description The pattern of the config file that it comes from. */
      pattern: string | null;
      price: {
        date: string | null;
        from: string;
        /**
         * @description The operator, the provider, published data, or a guess where none of these says.
         * @enum {unknown}
         */
        source: 'configured' | 'listed' | 'published' | 'assumed';
        /** @description USD per million tokens, by class, as charged. */
        value: {
          [key: string]: number;
        };
      };
      /** @description Prices that take effect later, in the order of time. */
      price_changes: {
        from: string;
        markup: number | null;
        value: {
          [key: string]: number;
        };
      }[];
      provider: string;
      public: boolean;
      /** @description Where requests go, in order: the provider and the name of the model there. */
      resolves_to: string[];
      targets: {
        format: string;
        provider: string;
        upstream_model: string;
        weight: number;
      }[];
    };
    /** ModelStateList */
    ModelStateList: {
      data: components['schemas']['ModelState'][];
      /** @enum {string} */
      object: 'list';
    };
    /** NewAccount */
    NewAccount: {
      /** @description Where requests may come from: IPv4 or IPv6 addresses, or ranges in CIDR notation. */
      addresses?: string[] | 'any' | null;
      /** @description The most credits that may be spent below the account in a period. */
      credit_cap?:
        | {
            /** @description Decimal credits. A string is read exactly, a number by its shortest decimal form. */
            amount: string | number;
            /** @enum {unknown} */
            period: 'day' | 'week' | 'month' | 'none';
          }
        | string
        | null;
      /** @description Your own id for it; no two accounts share one. */
      external_id?: string | '' | null;
      labels?: {
        [key: string]: string;
      };
      /** @description Ids, or patterns in which * stands for any characters. "all" and null: every model. */
      models?: string[] | 'all' | null;
      name: string;
      /** @description The most tokens of output of one request, as if the model had no more. */
      output_limit?: number | string | 'none' | null;
      /** @description Requests at a time. */
      parallel_limit?: number | string | 'none' | null;
      /** @description Absent for the root of a new tree. */
      parent?: string | null;
      /** @description Requests per minute. */
      rpm_limit?: number | string | 'none' | null;
      /** @description Background responses at a time. */
      runs_limit?: number | string | 'none' | null;
      /** @description The most tokens that may be spent below the account in a period. */
      token_cap?:
        | {
            amount: number | string;
            /** @enum {unknown} */
            period: 'day' | 'week' | 'month' | 'none';
          }
        | string
        | null;
      /** @description Tokens per minute: input when a request is admitted, output when it ends. */
      tpm_limit?: number | string | 'none' | null;
    };
    /** NewAccountReceiver */
    NewAccountReceiver: {
      /** @description slack: the incoming webhook of a channel, by https. email: one address. */
      address: string;
      /** @enum {unknown} */
      kind: 'slack' | 'email';
    };
    /** NewAccountWebhook */
    NewAccountWebhook: {
      /** @description Where the alerts of the account, of those below it and of their keys are posted to. */
      url: string;
    };
    /** NewCorrection */
    NewCorrection: {
      /** @description Decimal credits with their sign. A string is read exactly. */
      amount: string | number;
      /** @description Names the entry: sent again with the same id, it is booked once. */
      entry_id?: string;
      /** @description Why, for whoever reads the statement. */
      reason: string;
    };
    /** NewCredit */
    NewCredit: {
      /** @description Decimal credits. A string is read exactly, a number by its shortest decimal form. */
      amount: string | number;
      /** @description Names the purchase: sent again with the same id, it is booked once. */
      entry_id?: string;
      /** @description Makes it promotional credit: spent before what was purchased, and gone at this time. */
      expires_at?: string | null;
      note?: string | null;
    };
    /** NewKey */
    NewKey: {
      /** @description The account that pays for the key, by its id. */
      account?: string | null;
      /** @description Where requests may come from: IPv4 or IPv6 addresses, or ranges in CIDR notation. */
      addresses?: string[] | 'any' | null;
      /** @description Tokens per period, for token_budget keys. */
      budget?: number | string | 'unlimited' | null;
      /** @description The most that a credit key of an account may spend in its period. */
      cap?: string | number | null;
      /** @description For how long the content of its requests and responses is kept. "off" and null: it is not. */
      capture_days?: number | string | 'off' | null;
      /** @description Decimal credits. A string is read exactly, a number by its shortest decimal form. */
      credit?: string | number;
      /** @description ISO 8601; UTC where no zone is given. */
      expires_at?: string | null;
      label?: string | '' | null;
      /** @enum {unknown} */
      mode: 'credit' | 'token_budget';
      /** @description Ids, or patterns in which * stands for any characters. "all" and null: every model. */
      models?: string[] | 'all' | null;
      /** @description The most tokens of output of one request, as if the model had no more. */
      output_limit?: number | string | 'none' | null;
      /** @description Requests at a time. */
      parallel_limit?: number | string | 'none' | null;
      /** @enum {unknown} */
      period?: 'day' | 'week' | 'month' | 'none';
      provider_scope?: string;
      /** @description Requests per minute. */
      rpm_limit?: number | string | 'none' | null;
      /** @description Background responses at a time. */
      runs_limit?: number | string | 'none' | null;
      /** @description Tokens per minute: input when a request is admitted, output when it ends. */
      tpm_limit?: number | string | 'none' | null;
    };
    /**
     * NewModel
     * @description And the fields of a model: docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean.
     */
    NewModel: {
      /** @description The id that clients ask for. */
      id: string;
      [key: string]: unknown;
    };
    /** NewOperator */
    NewOperator: {
      /** @description The top of the subtree of an account-admin; the other roles have none. */
      account_id?: string | null;
      /** @description When the token expires; 90 days from now where it is absent. */
      expires_at?: string;
      name: string;
      /** @enum {unknown} */
      role: 'owner' | 'operator' | 'viewer' | 'account-admin';
    };
    /** NewOperatorToken */
    NewOperatorToken: {
      /** @description When the token expires; 90 days from now where it is absent. */
      expires_at?: string;
      label?: string | null;
    };
    /**
     * NewPrice
     * @description What is not given stays as it is.
     */
    NewPrice: {
      /** @description When it takes effect: a day, which begins at 00:00 UTC, or a time with its zone. Now by default. */
      from?: string;
      /** @description What the caller pays per unit of the provider price: 1.2 adds a fifth. A model’s own counts instead of its provider’s. */
      markup?: number;
      /** @description As a model of the config file has it: input and output in USD per million tokens, other classes, tiers. */
      pricing?: {
        [key: string]: unknown;
      };
    };
    /**
     * NewProvider
     * @description And the fields of a provider: docs/gateway.schema.json has them, and docs/run/configuration.md says what they mean.
     */
    NewProvider: {
      /** @description Lower-case letters, digits, dots, dashes and underscores. */
      name: string;
      [key: string]: unknown;
    };
    /** NewRefund */
    NewRefund: {
      /** @description Without it, all that is left. */
      amount?: string | number;
      /** @description Names the entry: sent again with the same id, it is booked once. */
      entry_id?: string;
      /** @description Why, for whoever reads the statement. */
      reason: string;
    };
    /** Operator */
    Operator: {
      account_id: string | null;
      /** @description The owner that the admin secret and the Unix socket act as. */
      built_in: boolean;
      created_at: string | null;
      id: string;
      name: string;
      /** @enum {unknown} */
      role: 'owner' | 'operator' | 'viewer' | 'account-admin';
      /** @enum {unknown} */
      status: 'active' | 'revoked';
      tokens: components['schemas']['OperatorToken'][];
    };
    /** OperatorChange */
    OperatorChange: {
      /** @description The top of the subtree of an account-admin; the other roles have none. */
      account_id?: string | null;
      /** @enum {unknown} */
      role: 'owner' | 'operator' | 'viewer' | 'account-admin';
    };
    /** OperatorList */
    OperatorList: {
      data: components['schemas']['ListedOperator'][];
      /** @enum {string} */
      object: 'list';
    };
    /** OperatorToken */
    OperatorToken: {
      created_at: string;
      expires_at: string;
      id: string;
      label: string | null;
      /** @enum {unknown} */
      status: 'active' | 'expired' | 'revoked';
    };
    /**
     * PlaygroundAnswer
     * @description What the public listener answered; its own document, /openapi.json, describes it for each format.
     */
    PlaygroundAnswer: {
      [key: string]: unknown;
    };
    /** PlaygroundRequest */
    PlaygroundRequest: {
      /** @description The request, as a client would send it. */
      body: {
        [key: string]: unknown;
      };
      /** @enum {unknown} */
      format: 'chat' | 'responses' | 'messages';
      /** @description Another key than the playground's own; it is used for this request and not kept. */
      key?: string;
    };
    /** PlaygroundState */
    PlaygroundState: {
      /** @description For clients of the OpenAI API. */
      base_url: string;
      /** @description What its own key may spend in a day (UTC). */
      daily_credit: number;
      /** @description Null until it is first used. */
      key_id: string | null;
      left_today: number;
      /** @description For clients of the Anthropic API. */
      origin: string;
    };
    /**
     * PlaygroundStream
     * @description What the public listener answered; its own document, /openapi.json, describes it for each format. Server-sent events, for a request with `stream: true`.
     */
    PlaygroundStream: string;
    /** Promotion */
    Promotion: {
      amount: number;
      /** @description It can be in the past while requests in flight still hold what is left. */
      expires_at: string;
      /** @description The id of its entry. */
      id: string;
      left: number;
    };
    /**
     * Promotional
     * @description The part of the balance that expires, where there is one; of a key or root that is asked for by its id.
     */
    Promotional: {
      left: number;
      /** @description What is left of the credit that expires next. */
      next_amount: number;
      next_expires_at: string;
    };
    /** PromotionList */
    PromotionList: {
      data: components['schemas']['Promotion'][];
      /** @enum {string} */
      object: 'list';
    };
    /** ProviderState */
    ProviderState: {
      base_url: string;
      circuit_breaker: boolean;
      /** @description Above 0 while every credential is cooling down. */
      cooling_ms: number;
      /** @description When the provider refused a credential last (401 or 403), since the start. */
      credential_refused_at: string | null;
      /** @description How many there are; none is ever shown. */
      credentials: number;
      credentials_cooling: number;
      /**
       * @description The config file, an operator (see /definitions), a variable of the environment, or the sandbox.
       * @enum {unknown}
       */
      defined_by: 'file' | 'api' | 'environment' | 'sandbox';
      formats: string[];
      /** @enum {unknown} */
      health: 'ok' | 'degraded' | 'down';
      kind: string;
      name: string;
      targets: components['schemas']['TargetState'][];
    };
    /** ProviderStateList */
    ProviderStateList: {
      data: components['schemas']['ProviderState'][];
      /** @enum {string} */
      object: 'list';
    };
    /** Refund */
    Refund: {
      amount: number;
      /** @description The balance of the payer afterwards. */
      balance: number;
      charged: number;
      entry_id: string;
      key: string;
      /** @enum {string} */
      object: 'refund';
      /** @description Who paid and gets it back: the key, or the root of its account. */
      payer: string;
      /** @description The sum of all refunds of the request. */
      refunded: number;
      request_id: string;
    };
    /**
     * RemovedDefinition
     * @description `now`: who defines the name instead, where somebody does.
     */
    RemovedDefinition: {
      /** @enum {unknown} */
      kind: 'provider' | 'model';
      name: string;
      now: string | null;
      /** @enum {boolean} */
      removed: true;
    };
    /** RemovedReceiver */
    RemovedReceiver: {
      account: string;
      id: string;
      /** @enum {boolean} */
      removed: true;
    };
    /**
     * Request
     * @description Times are milliseconds since it was received.
     */
    Request: {
      /** @description The account of the key when the request came. */
      account_id: string | null;
      admitted_ms: number | null;
      attempts: {
        condition: string | null;
        /** @description Its number among those of the provider; 0: none was needed. */
        credential: number;
        ended_ms: number | null;
        first_byte_ms: number | null;
        format: string;
        lane: string;
        message: string | null;
        model: string;
        outcome: string;
        provider: string;
        provider_request_id: string | null;
        retry_after_s: number | null;
        started_ms: number | null;
        status: number | null;
        waited_ms: number;
      }[];
      /** @description Its answer is a response that is made in the background. */
      background: boolean;
      bytes_in: number;
      bytes_out: number;
      charged: string | null;
      /** @description The pieces of a stream before the one that ends it. */
      chunks: number;
      client_address: string | null;
      client_closed: boolean;
      client_request_id: string | null;
      condition: string | null;
      cost_nanos: string | null;
      duration_ms: number;
      endpoint: string | null;
      first_byte_ms: number | null;
      first_content_ms: number | null;
      flag: string | null;
      format: string | null;
      /** @description In the key's unit: nanos of a credit, or tokens. */
      held: string | null;
      id: string;
      idempotency: string;
      key_id: string | null;
      key_label: string | null;
      last_byte_ms: number | null;
      message: string | null;
      mode: string | null;
      model: string | null;
      model_known: boolean;
      /** @description What a token of each class was charged by: nanos of a credit = rate ÷ per. */
      prices: {
        cache_read: string;
        cache_write: string;
        cache_write_1h: string;
        input: string;
        output: string;
        per: string;
      } | null;
      provider_cost_nanos: string | null;
      rate: {
        limit: number;
        remaining: number;
      } | null;
      received_at: string;
      settled_ms: number | null;
      settlement: string | null;
      skipped: {
        model: string;
        provider: string;
        reason: string;
      }[];
      status: number | null;
      stopped: string | null;
      streamed: boolean;
      usage: {
        cache_read: number;
        cache_write: number;
        cache_write_1h: number;
        input: number;
        output: number;
        reasoning: number;
        source: string;
      } | null;
      user_agent: string | null;
      warnings: string[];
    };
    /** RequestContent */
    RequestContent: {
      /** @description Whether one of them was longer than a mebibyte and is truncated. */
      cut: boolean;
      /** Format: date-time */
      expires_at: string;
      id: string;
      /** @enum {string} */
      object: 'request_content';
      /** @description The body, as the client sent it. */
      request: string;
      /** @description The body, as the client got it; of a stream, its events. */
      response: string;
    };
    /**
     * RequestEvents
     * @description Server-sent events, in the order in which requests were logged, until the client closes the connection, its credential ends, the log cannot be read or the gateway stops. A comment line comes first, and every 15 seconds without an event.
     */
    RequestEvents: (
      | {
          data: string;
          /** @enum {string} */
          event: 'request';
        }
      | {
          data: string;
          /** @enum {string} */
          event: 'more';
        }
    )[];
    /** RequestExplanation */
    RequestExplanation: {
      explanation: string[];
      history: components['schemas']['RequestHistory'];
      request: components['schemas']['Request'];
    };
    /**
     * RequestHistory
     * @description What was done about the request since, newest first.
     */
    RequestHistory: {
      events: components['schemas']['HistoryEvent'][];
      /** @description What is left to refund of what it was charged, in credits. */
      refundable: number;
      /** @description The sum of its refunds, in credits. */
      refunded: number;
    };
    /** RequestList */
    RequestList: {
      data: components['schemas']['Request'][];
      /** @description For `before`; null at the end. A page may be short, or empty, before the end is reached. */
      next: string | null;
      /** @enum {string} */
      object: 'list';
    };
    /** RunningRequest */
    RunningRequest: {
      age_ms: number;
      attempts: number;
      /** @description In the key's unit. */
      held: string;
      id: string;
      key_id: string;
      key_label: string | null;
      mode: string;
      model: string;
      output_bytes: number;
      /** @description Empty for an account-admin. */
      provider: string;
      streamed: boolean;
    };
    /** RunningRequestList */
    RunningRequestList: {
      data: components['schemas']['RunningRequest'][];
      /** @enum {string} */
      object: 'list';
    };
    /** Session */
    Session: {
      /** @description To be sent as x-csrf-token with every request of the session that is not GET or HEAD. */
      csrf_token: string | null;
      /** @description Null where the caller has no session. */
      expires_at: string | null;
      operator: {
        /** @description The account of an account-admin. */
        account_id: string | null;
        id: string;
        name: string;
        /** @enum {unknown} */
        role: 'owner' | 'operator' | 'viewer' | 'account-admin';
      };
    };
    /** SettingInForce */
    SettingInForce: {
      /** @enum {unknown} */
      from: 'file' | 'environment' | 'command_line' | 'default';
      /** @description As it is written: `GATEWAY_PORT` in the environment, `limits.drain` in the config file. */
      name: string;
      /** @description In the unit in which it is written; null where nothing is set. A secret is shown as "set". */
      value: unknown;
    };
    /** SettingsInForce */
    SettingsInForce: {
      data: components['schemas']['SettingInForce'][];
      /** @enum {string} */
      object: 'list';
    };
    /** SignedOut */
    SignedOut: {
      ended: number;
    };
    /** SignIn */
    SignIn: {
      /** @description The token of a sign-in link, which is then used up, or an operator token. */
      token: string;
    };
    /** SignInLink */
    SignInLink: {
      /** @description The fingerprint of a certificate that the gateway made itself, to compare with what the browser shows. */
      certificate_sha256: string | null;
      expires_at: string;
      /** @description Opens the console and signs in, once. The token is in the fragment. */
      url: string;
    };
    /** SignInWays */
    SignInWays: {
      oidc: boolean;
    };
    /** Statement */
    Statement: {
      /** @description false: the period is not over, and more may follow. */
      closed: boolean;
      closing_balance: string | null;
      /** @description The same sums in the currency of the configuration, rounded; credits are what counts. */
      currency: {
        by_kind: {
          [key: string]: string;
        };
        closing_balance: string | null;
        code: string;
        /** @description What one credit costs in it. */
        credit_price: string;
        entries: string;
        opening_balance: string | null;
        usage: string;
      } | null;
      entries: components['schemas']['StatementEntry'][];
      from: string;
      /** @description Of the account or the key. */
      id: string;
      /** @description When it was made. */
      issued_at: string;
      /** @description Who issues it, as the configuration says (`statements`); null where it says nothing. */
      issuer: {
        address: string[];
        contact: string | null;
        name: string | null;
        note: string | null;
        tax_id: string | null;
      } | null;
      /** @description The name or label that it has today. */
      name: string | null;
      /** @enum {string} */
      object: 'statement';
      /** @enum {unknown} */
      of: 'key' | 'root' | 'account';
      /** @description In credits; null for an account below a root, which has no balance of its own. */
      opening_balance: string | null;
      /** @description The first day after the period. */
      to: string;
      totals: {
        /** @description The sum of the entries of each kind. */
        by_kind: {
          [key: string]: string;
        };
        cache_read_tokens: number;
        cache_write_1h_tokens: number;
        cache_write_tokens: number;
        charges: number;
        /** @description The sum of the entries. */
        entries: string;
        /** @description Input that was neither read from a cache nor written to one. */
        input_tokens: number;
        /** @description Reasoning included. */
        output_tokens: number;
        reasoning_tokens: number;
        /** @description Calls that have a usage record; the tokens are theirs. Cancelled calls have none. */
        recorded: number;
        /** @description The sum of the usage: opening_balance + entries - usage = closing_balance. */
        usage: string;
      };
      usage: components['schemas']['StatementUsage'][];
    };
    /**
     * StatementCsv
     * @description Lines of opening balance, entries, usage and closing balance, for `format=csv`.
     */
    StatementCsv: string;
    /** StatementEntry */
    StatementEntry: {
      /** @description The operator who booked it. */
      actor: string | null;
      /** @description What it adds to the balance, with its sign. */
      amount: string;
      /** @description The amount in `currency`, rounded; null where none is configured. */
      amount_in_currency: string | null;
      at: string;
      /** @description Of promotional credit. */
      expires_at: string | null;
      id: string;
      /** @enum {unknown} */
      kind: 'purchase' | 'promotion' | 'refund' | 'correction' | 'expired' | 'transfer_out' | 'transfer_in';
      /** @description The other side of a transfer, or the promotion that expired. */
      other: string | null;
      reason: string | null;
      /** @description The request that was refunded. */
      request_id: string | null;
    };
    /**
     * StatementPage
     * @description The statement as a page to print, for `format=html`.
     */
    StatementPage: string;
    /** StatementUsage */
    StatementUsage: {
      /** @description The account that the key has now. */
      account: string | null;
      account_name: string | null;
      /** @description What was charged for them. */
      amount: string;
      /** @description The amount in `currency`, rounded; null where none is configured. */
      amount_in_currency: string | null;
      cache_read_tokens: number;
      cache_write_1h_tokens: number;
      cache_write_tokens: number;
      /** @description Calls that were charged, cancelled ones too. */
      charges: number;
      /** @description Input that was neither read from a cache nor written to one. */
      input_tokens: number;
      key: string;
      /** @description What the key is called now. */
      label: string | null;
      /** @description Null where nothing is known of the calls. */
      model: string | null;
      /** @description Reasoning included. */
      output_tokens: number;
      reasoning_tokens: number;
      /** @description Calls that have a usage record; the tokens are theirs. Cancelled calls have none. */
      recorded: number;
    };
    /** StoppedRequest */
    StoppedRequest: {
      id: string;
      stopped: boolean;
    };
    /** StoppedRequests */
    StoppedRequests: {
      id: string;
      /** @description How many were stopped. */
      stopped: number;
    };
    /** TargetState */
    TargetState: {
      /**
       * @description due: open, and the next call is a probe.
       * @enum {unknown}
       */
      circuit: 'closed' | 'open' | 'due';
      /** @description How long it is still tried after the others. */
      cooling_ms: number;
      first_byte_ms: {
        streamed: number | null;
        whole: number | null;
      };
      /** @description Keys for which it is not called, although it is for others. */
      keys_with_open_circuit: number;
      /** @description The models of the catalog that it serves. */
      models: string[];
      next_probe_in_ms: number;
      upstream_model: string;
    };
    /** TargetTest */
    TargetTest: {
      detail: string;
      format: string;
      model: string;
      /** @enum {unknown} */
      state: 'ok' | 'problem' | 'skipped';
      took_ms: number | null;
    };
    /** TargetTestRun */
    TargetTestRun: {
      format: string;
      model: string;
      provider: string;
      upstream_model: string;
    };
    /** UsageFigures */
    UsageFigures: {
      /** @description Requests whose answer broke off. */
      broken: number;
      cache_read_tokens: number;
      cache_write_1h_tokens: number;
      cache_write_tokens: number;
      /** @description Calls that were charged, and that their client, a time limit, a drain or an operator ended. */
      cancelled: number;
      /** @description The sum of the entries of credit keys. */
      charged_credits: number;
      /** @description The sum of the entries of token budgets. */
      charged_tokens: number;
      /** @description What the calls cost the callers, in credits, in both modes. */
      cost: number;
      /** @description In milliseconds; null where no request says. */
      duration_ms: {
        p50: number;
        p95: number;
        p99: number;
      } | null;
      /** @description From 0 to 1: failed and broken, as a part of all requests (requests, cancelled and failed). */
      error_rate: number;
      /** @description Requests that were refused or failed, with nothing charged. They are in no other count. */
      failed: number;
      /** @description The same by their condition, such as upstream_error or rate_limit_exceeded. */
      failed_by_condition: {
        [key: string]: number;
      };
      /** @description In milliseconds; null where no request says. */
      first_byte_ms: {
        p50: number;
        p95: number;
        p99: number;
      } | null;
      /** @description Input that was neither read from a cache nor written to one. */
      input_tokens: number;
      /** @description cost minus provider_cost; null for an account-admin. */
      margin: number | null;
      /** @description Reasoning included. */
      output_tokens: number;
      /** @description What the providers charge for them, in credits; null for an account-admin. */
      provider_cost: number | null;
      reasoning_tokens: number;
      /** @description Requests that were answered, and not cancelled. */
      requests: number;
    };
    /** UsageReport */
    UsageReport: {
      by: ('day' | 'hour' | 'key' | 'label' | 'account' | 'model' | 'provider' | 'format')[];
      /** @description false: older charges are still being added, as after an upgrade, or the counts of failed requests cannot be read; ask again later. */
      complete: boolean;
      data: components['schemas']['UsageRow'][];
      /** @enum {string} */
      object: 'usage';
      since: string;
      /** @description Whose days are meant. */
      time_zone: string;
      total: components['schemas']['UsageFigures'];
      /** @description Not part of the report. */
      until: string;
      /** @description Requests in this time that no known key was given with: in no row and in no total, whatever is filtered. None for an account-admin. */
      without_key: {
        /** @description Requests that were refused or failed, with nothing charged. They are in no other count. */
        failed: number;
        /** @description The same by their condition, such as upstream_error or rate_limit_exceeded. */
        failed_by_condition: {
          [key: string]: number;
        };
      };
    };
    /**
     * UsageRow
     * @description The dimensions that were asked for, and no others; null means unknown or none.
     */
    UsageRow: {
      account?: string | null;
      /** @description What the account is called now; with `account`. */
      account_name?: string | null;
      /** @description Requests whose answer broke off. */
      broken: number;
      cache_read_tokens: number;
      cache_write_1h_tokens: number;
      cache_write_tokens: number;
      /** @description Calls that were charged, and that their client, a time limit, a drain or an operator ended. */
      cancelled: number;
      /** @description The sum of the entries of credit keys. */
      charged_credits: number;
      /** @description The sum of the entries of token budgets. */
      charged_tokens: number;
      /** @description What the calls cost the callers, in credits, in both modes. */
      cost: number;
      /** @description Like 2030-01-31. */
      day?: string;
      /** @description In milliseconds; null where no request says. */
      duration_ms: {
        p50: number;
        p95: number;
        p99: number;
      } | null;
      /** @description From 0 to 1: failed and broken, as a part of all requests (requests, cancelled and failed). */
      error_rate: number;
      /** @description Requests that were refused or failed, with nothing charged. They are in no other count. */
      failed: number;
      /** @description The same by their condition, such as upstream_error or rate_limit_exceeded. */
      failed_by_condition: {
        [key: string]: number;
      };
      /** @description In milliseconds; null where no request says. */
      first_byte_ms: {
        p50: number;
        p95: number;
        p99: number;
      } | null;
      format?: string | null;
      /** @description The time at which it begins. */
      hour?: string;
      /** @description Input that was neither read from a cache nor written to one. */
      input_tokens: number;
      key?: string;
      label?: string | null;
      /** @description cost minus provider_cost; null for an account-admin. */
      margin: number | null;
      model?: string | null;
      /** @description Reasoning included. */
      output_tokens: number;
      provider?: string | null;
      /** @description What the providers charge for them, in credits; null for an account-admin. */
      provider_cost: number | null;
      reasoning_tokens: number;
      /** @description Requests that were answered, and not cancelled. */
      requests: number;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}

export type $defs = Record<string, never>;

export type external = Record<string, never>;

export type operations = Record<string, never>;
