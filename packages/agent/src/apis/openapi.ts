import { isJsonObject, isScope } from '@poppyseed/protocol'
import { cleanLines, cleanText } from '../net/text.ts'

/** Reads an OpenAPI document (6): the operations it describes and where each one goes. Nothing in it is trusted. */

export type Json = Readonly<Record<string, unknown>>

/** A parameter of an operation, body apart. */
export interface OperationParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string | undefined
  readonly schema: Json
  readonly explode: boolean
  readonly style: string
}

/** One operation of a Company's API. */
export interface ApiOperation {
  /** `operationId`, or method and path where it has none. */
  readonly id: string
  readonly method: string
  /** The template, such as `/orders/{id}`. */
  readonly path: string
  /** Where the template starts: from `servers`, relative to the document. */
  readonly base: string
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly parameters: readonly OperationParameter[]
  readonly body: { readonly required: boolean; readonly contentType: string; readonly schema: Json } | undefined
  /** Scopes that the document says it needs; empty when none, undefined when it doesn't say. */
  readonly scopes: readonly string[] | undefined
}

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const
const maxOperations = 2000

/** Reads the operations. Those that can't be read are left out. */
export function readOperations(document: unknown, documentUrl: string): readonly ApiOperation[] {
  if (!isJsonObject(document) || !isJsonObject(document.paths)) return []
  const operations: ApiOperation[] = []
  const taken = new Set<string>()
  for (const [path, entry] of Object.entries(document.paths)) {
    const item = resolve(document, entry)
    if (!isJsonObject(item) || !path.startsWith('/')) continue
    for (const method of methods) {
      const operation = item[method]
      if (!isJsonObject(operation) || operations.length >= maxOperations) continue
      const base = baseOf(operation.servers ?? item.servers ?? document.servers, documentUrl)
      if (base === undefined) continue
      const stated = text(operation.operationId, 200)
      const id = stated === undefined || taken.has(stated) ? `${method.toUpperCase()} ${cleanText(path)}` : stated
      taken.add(id)
      operations.push({
        id,
        method: method.toUpperCase(),
        path,
        base,
        summary: text(operation.summary, 300),
        description: typeof operation.description === 'string' ? cleanLines(operation.description) : undefined,
        parameters: readParameters(document, item.parameters, operation.parameters),
        body: readBody(document, operation.requestBody),
        scopes: readScopes(operation.security ?? document.security),
      })
    }
  }
  return operations
}

/** Follows local references, `#/…`, a few steps; anything else is left out. */
export function resolve(document: Json, value: unknown, steps = 8): unknown {
  if (!isJsonObject(value) || typeof value.$ref !== 'string') return value
  if (steps === 0 || !value.$ref.startsWith('#/')) return undefined
  let found: unknown = document
  for (const part of value.$ref.slice(2).split('/')) {
    const name = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
    found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined
  }
  return resolve(document, found, steps - 1)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // A pointer that isn't URL-encoded stands as it is.
    return part
  }
}

/** The first server's URL, relative to the document; without servers, `/` on its origin (OpenAPI 3.1, 4.8.1.1). */
function baseOf(servers: unknown, documentUrl: string): string | undefined {
  const first = Array.isArray(servers) ? servers[0] : undefined
  if (first === undefined) return new URL('/', documentUrl).href
  if (!isJsonObject(first) || typeof first.url !== 'string') return undefined
  const variables = isJsonObject(first.variables) ? first.variables : {}
  const url = first.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = variables[name]
    return isJsonObject(variable) && typeof variable.default === 'string' ? variable.default : whole
  })
  return URL.parse(url, documentUrl)?.href
}

function readParameters(document: Json, ...lists: readonly unknown[]): readonly OperationParameter[] {
  const found = new Map<string, OperationParameter>()
  for (const entry of lists.flatMap((list) => (Array.isArray(list) ? (list as readonly unknown[]) : []))) {
    const parameter = resolve(document, entry)
    if (!isJsonObject(parameter) || typeof parameter.name !== 'string') continue
    const place = parameter.in
    if (place !== 'path' && place !== 'query' && place !== 'header') continue
    const style = typeof parameter.style === 'string' ? parameter.style : place === 'query' ? 'form' : 'simple'
    // The operation's own parameter replaces the path's.
    found.set(`${place} ${parameter.name}`, {
      name: parameter.name,
      in: place,
      required: place === 'path' || parameter.required === true,
      description: text(parameter.description, 500),
      schema: schemaOf(document, parameter.schema),
      style,
      explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form',
    })
  }
  return [...found.values()]
}

function readBody(document: Json, value: unknown): ApiOperation['body'] {
  const body = resolve(document, value)
  if (!isJsonObject(body) || !isJsonObject(body.content)) return undefined
  const types = Object.keys(body.content)
  const json = types.find(isJsonType)
  const contentType = json ?? types[0]
  if (contentType === undefined) return undefined
  const media = body.content[contentType]
  return {
    required: body.required === true,
    contentType,
    schema: schemaOf(document, isJsonObject(media) ? media.schema : undefined),
  }
}

/** Whether a media type is JSON. */
export function isJsonType(type: string): boolean {
  const [essence = ''] = type.toLowerCase().split(';')
  return /^application\/(json|[a-z0-9.!#$&^_-]+\+json)$/.test(essence.trim())
}

function schemaOf(document: Json, value: unknown): Json {
  const schema = resolve(document, value)
  return isJsonObject(schema) ? schema : {}
}

/** The scopes of the requirement that asks for least. */
function readScopes(security: unknown): readonly string[] | undefined {
  if (!Array.isArray(security)) return undefined
  const alternatives = security.filter(isJsonObject).map((requirement) => [
    ...new Set(
      Object.values(requirement)
        .flatMap((scopes) => (Array.isArray(scopes) ? (scopes as readonly unknown[]) : []))
        .filter((scope): scope is string => typeof scope === 'string' && isScope(scope)),
    ),
  ])
  return alternatives.sort((left, right) => left.length - right.length)[0] ?? []
}

function text(value: unknown, maxLength: number): string | undefined {
  return typeof value === 'string' && value !== '' ? cleanText(value, maxLength) : undefined
}
