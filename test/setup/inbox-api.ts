import { createRequire } from 'node:module'
import type { CompanyConfig, Staff, Store } from 'poppyseed'
import { bookings, lists } from './bookings.ts'
import { omar, rita } from './front-desk.ts'
import { listen } from './listen.ts'
import { makeWorld, testTools, type World } from './world.ts'

/** A Company at a real port whose staff use the JSON API of the inbox. */

const people: Readonly<Record<string, Staff>> = { rita, omar }

/** The company's own login: who it is stands in the request. */
const staffByHeader = {
  staff: (request: Request) => people[request.headers.get('x-desk') ?? ''] ?? null,
} satisfies Partial<CompanyConfig>

/** What the document says. */
export interface ApiDocument {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>
  readonly webhooks: Readonly<Record<string, unknown>>
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly responses: object }
}

export interface DocumentOperation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } }
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly 'application/json': { schema: object } } }>
  >
}

/** What came of a call. */
export interface ApiAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: what it says is checked against the document
  readonly body: any
}

/** Starts it. */
export async function apiWorld(store?: Store, config: Partial<CompanyConfig> = {}) {
  let world: World | null = null
  const { origin } = await listen(async (at) => {
    world = await makeWorld(
      {
        origin: at,
        development: true,
        organization: { name: 'Hotel Miramar', domain: 'localhost' },
        tools: testTools(),
        operations: bookings(),
        limits: false,
        ...staffByHeader,
        ...config,
      },
      store,
    )
    lists(world.agent)
    return world.company.fetch
  })
  const made = world as unknown as World
  const base = `${origin}/poppy/inbox/api`
  const raw = (path: string, init: RequestInit = {}) => fetch(base + path, init)
  const documentOf = async () =>
    (await (await raw('/openapi.json', { headers: { 'x-desk': 'rita' } })).json()) as ApiDocument
  return { ...made, origin, base, raw, documentOf }
}

/** Calls by one member of staff: `desk('GET', '/counts')`. */
export function caller(base: string, name: string) {
  return async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(base + path, {
      method,
      headers: { 'x-desk': name, ...(method === 'GET' ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    })
    return { status: answer.status, body: await answer.json() } as ApiAnswer
  }
}

type Ajv = new (
  options: object,
) => { readonly compile: (schema: object) => { (value: unknown): boolean; errors?: unknown } }

/** Makes the check of a schema of a document: what is wrong, or null. */
export function checkerOf(document: ApiDocument) {
  const require = createRequire(new URL('../../packages/company/package.json', import.meta.url))
  const { Ajv, addFormats } = require('@modelcontextprotocol/server/validators/ajv') as {
    readonly Ajv: Ajv
    readonly addFormats: (ajv: object) => void
  }
  const ajv = new Ajv({ allErrors: true, strictTypes: false, strictRequired: false })
  addFormats(ajv)
  const here = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/components/schemas/', '"#/$defs/')) as T
  const $defs = here(document.components.schemas)
  return (schema: object, value: unknown): unknown => {
    const check = ajv.compile({ $defs, ...here(schema) })
    return check(value) ? null : check.errors
  }
}
