/** Answers of a started gateway, held against the OpenAPI document that it serves. */
import assert from 'node:assert/strict';
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import { ENDPOINTS, type EndpointName } from '../../src/core/endpoints.ts';
import { assertEvents, assertResponse } from './open-responses.ts';
import { call } from './started-gateway.ts';

export interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface DocumentedAnswer {
  readonly content: Readonly<Record<string, { readonly schema: AnySchema }>>;
  readonly headers?: Readonly<Record<string, unknown>>;
}

interface Operation {
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  readonly responses: Readonly<Record<string, DocumentedAnswer>>;
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** The events of a stream that says how it ended. */
const ENDED = /data: \[DONE\]|"type":"(response\.(completed|incomplete)|message_stop)"/;

export class Documented {
  readonly #paths: Paths;
  readonly #ajv = new Ajv2020({ strict: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  private constructor(document: { readonly paths: Paths }) {
    this.#paths = document.paths;
    this.#ajv.addSchema(document as AnySchema, 'gateway');
  }

  static async of(origin: string): Promise<Documented> {
    return new Documented((await (await call(`${origin}/openapi.json`)).json()) as { readonly paths: Paths });
  }

  operation(name: EndpointName): Operation {
    const { path, method } = ENDPOINTS[name];
    const operation = this.#paths[path]?.[method.toLowerCase()];
    assert.ok(operation, `${method} ${path} is documented`);
    return operation;
  }

  requestSchema(name: EndpointName): Schema {
    return this.operation(name).requestBody?.content['application/json'].schema ?? {};
  }

  /** Whether the document takes this body. */
  takes(name: EndpointName, body: unknown): boolean {
    return this.#validator(name, 'requestBody')(body);
  }

  /**
   * The status and the body, after the answer has been held against the document; streams have no body. Responses and their
   * events are held against the Open Responses schemas too, unless the request has members that these do not know: they
   * are repeated as they came.
   */
  async checked(
    name: EndpointName,
    response: Response,
    request: string,
    isOpenResponses = true,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const { status } = response;
    const text = await response.text();
    const shown = `${name} ${request}: ${status} ${text.slice(0, 500)}`;
    const listed = this.operation(name).responses[String(status)];
    assert.ok(listed, shown);
    for (const header of status === 200 ? Object.keys(listed.headers ?? {}) : []) {
      // Each of the others belongs to one mode of keys.
      if (header === 'x-request-id') assert.ok(response.headers.has(header), `${header} of ${shown}`);
    }
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      assert.ok(status === 200 && 'text/event-stream' in listed.content, shown);
      assert.match(text, ENDED, shown);
      if (name === 'responses' && isOpenResponses) assertEvents(eventsOf(text));
      return { status, body: null };
    }
    const body: unknown = JSON.parse(text);
    const valid = this.#validator(name, 'responses', String(status));
    assert.ok(valid(body), `${shown}: ${this.#ajv.errorsText(valid.errors)}`);
    if (name === 'responses' && status === 200 && isOpenResponses) assertResponse(body);
    return { status, body };
  }

  /** The validator of what the document has at this place. */
  #validator(name: EndpointName, ...steps: readonly string[]): ValidateFunction {
    const { path, method } = ENDPOINTS[name];
    const pointer = ['paths', path, method.toLowerCase(), ...steps, 'content', 'application/json', 'schema']
      .map((step) => encodeURIComponent(step.replaceAll('/', '~1')))
      .join('/');
    const known = this.#compiled.get(pointer) ?? this.#ajv.compile({ $ref: `gateway#/${pointer}` });
    this.#compiled.set(pointer, known);
    return known;
  }
}

/** The data of a stream's events. */
export function eventsOf(text: string): { readonly [name: string]: unknown }[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}
