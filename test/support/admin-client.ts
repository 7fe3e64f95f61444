/** The admin API as tests call it: a method for each operation that they use, over the client of the command line. */
import {
  AdminClient,
  type AdminTransport,
  type AnswerOf,
  type CallOf,
  type OperationName,
  socketTransport,
} from '../../src/admin/client.ts';
import { type AdminService, PROCESS } from '../../src/admin/service.ts';

export class TestAdmin extends AdminClient {
  readonly accounts = {
    create: (body: object) => this.call('createAccount', { body }),
    list: (filters: object = {}) => this.all('listAccounts', filters),
    show: (id: string) => this.call('showAccount', { id }),
    change: (id: string, body: object, version?: number) => this.call('changeAccount', { id, body, version }),
    move: (id: string, body: object) => this.call('moveAccount', { id, body }),
    addCredit: (id: string, body: object) => this.call('addAccountCredit', { id, body }),
    addKey: (id: string, body: object) => this.call('addAccountKey', { id, body }),
  };
  readonly money = {
    refund: (id: string, body: object) => this.call('refund', { id, body }),
    correct: (id: string, body: object) => this.call('correct', { id, body }),
    promotions: (id: string) => this.call('promotions', { id }),
    statement: (id: string, query: object) => this.call('statement', { id, query }),
  };
  readonly operators = {
    list: async () => (await this.call('listOperators', {})).data,
    show: (id: string) => this.call('showOperator', { id }),
    create: (body: object) => this.call('createOperator', { body }),
    change: (id: string, body: object) => this.call('changeOperator', { id, body }),
    revoke: (id: string) => this.call('revokeOperator', { id }),
    addToken: (id: string, body: object) => this.call('addToken', { id, body }),
    revokeToken: (id: string, token_id: string) => this.call('revokeToken', { id, token_id }),
    link: (id: string) => this.call('makeLink', { id }),
  };
  readonly alerts = {
    list: (query: object) => this.call('listAlerts', { query }),
    deliveries: (query: object) => this.call('listDeliveries', { query }),
    test: (receiver?: string) => this.call('testAlerts', { query: { ...(receiver !== undefined && { receiver }) } }),
    receivers: (query: object = {}) => this.call('listReceivers', { query }),
    accountReceivers: (id: string) => this.call('accountReceivers', { id }),
    addReceiver: (id: string, body: object) => this.call('addReceiver', { id, body }),
    removeReceiver: (id: string, receiver: string) => this.call('removeReceiver', { id, receiver }),
    testReceiver: (id: string, receiver: string) => this.call('testReceiver', { id, receiver }),
    webhook: (id: string) => this.call('showWebhook', { id }),
    setWebhook: (id: string, body: object) => this.call('setWebhook', { id, body }),
    removeWebhook: (id: string) => this.call('removeWebhook', { id }),
  };

  createKey(body: object): Promise<AnswerOf<'createKey'>> {
    return this.call('createKey', { body });
  }

  importKeys(body: object): Promise<AnswerOf<'importKeys'>> {
    return this.call('importKeys', { body });
  }

  listKeys(filters: object = {}): Promise<AnswerOf<'listKeys'>['data']> {
    return this.all('listKeys', filters);
  }

  showKey(id: string): Promise<AnswerOf<'showKey'>> {
    return this.call('showKey', { id });
  }

  changeKey(id: string, body: object, version?: number): Promise<AnswerOf<'changeKey'>> {
    return this.call('changeKey', { id, body, version });
  }

  revokeKey(id: string, version?: number): Promise<AnswerOf<'revokeKey'>> {
    return this.call('revokeKey', { id, version });
  }

  addSecret(id: string): Promise<AnswerOf<'addSecret'>> {
    return this.call('addSecret', { id });
  }

  revokeSecret(id: string, prefix: string): Promise<AnswerOf<'revokeSecret'>> {
    return this.call('revokeSecret', { id, prefix });
  }

  addCredit(id: string, body: object): Promise<AnswerOf<'addCredit'>> {
    return this.call('addCredit', { id, body });
  }

  requestContent(id: string): Promise<AnswerOf<'requestContent'>> {
    return this.call('requestContent', { id });
  }

  usage(query: object): Promise<AnswerOf<'usage'>> {
    return this.call('usage', { query });
  }

  auditTrail(query: object): Promise<AnswerOf<'auditTrail'>> {
    return this.call('auditTrail', { query });
  }

  async runningRequests(): Promise<AnswerOf<'runningRequests'>['data']> {
    return (await this.#ask('runningRequests')).data;
  }

  audit(): Promise<AnswerOf<'audit'>> {
    return this.#ask('audit');
  }

  lastAudit(): Promise<AnswerOf<'lastAudit'>> {
    return this.#ask('lastAudit');
  }

  modelLists(): Promise<AnswerOf<'modelLists'>> {
    return this.#ask('modelLists');
  }

  refreshModelLists(): Promise<AnswerOf<'refreshModelLists'>> {
    return this.#ask('refreshModelLists');
  }

  health(timeoutMs: number): Promise<AnswerOf<'health'>> {
    return this.call('health', {}, AbortSignal.timeout(timeoutMs));
  }

  #ask<Name extends OperationName>(name: Name): Promise<AnswerOf<Name>> {
    return this.call(name, {} as CallOf<Name>);
  }
}

/** Of a started gateway. */
export function adminAt(socketPath: string): TestAdmin {
  return new TestAdmin(socketTransport(socketPath));
}

/** Of a service in this process, as the process itself calls it. Its framework is loaded with the first call. */
export function adminOf(service: AdminService): TestAdmin {
  let transport: Promise<AdminTransport> | null = null;
  const load = async () => (await import('../../src/admin/http/in-process.ts')).inProcessTransport(service, PROCESS);
  return new TestAdmin({
    name: 'this process',
    send: async (call) => {
      transport ??= load();
      return (await transport).send(call);
    },
  });
}
