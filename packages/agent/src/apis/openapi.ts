import { isJsonObject, isScope } from '@poppyseed/protocol'
import { cleanLines, cleanText } from '../net/text.ts'

/** Reads an OpenAPI document (6): the operations it describes and where each one goes. Nothing in it is trusted. */

/** A JSON object. */
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

/**
 * Bounds of what is read. References let a document say one large thing thousands of times: each thing is cut to what
 * somebody could use, and what may be large is read once, however often it is referred to.
 */
const maxOperations = 2000
const maxParameters = 100
const maxAlternatives = 50
const maxDescription = 10_000
const maxUrl = 2048
const maxName = 200
/** Names in one reference: those that documents have are three or four. */
const maxPointer = 20

/** Reads the operations. Those that can't be read are left out. */
export function readOperations(document: unknown, documentUrl: string): readonly ApiOperation[] {
  if (!isJsonObject(document) || !isJsonObject(document.paths)) return []
  const operations: ApiOperation[] = []
  const taken = new Set<string>()
  const parametersOf = once((entry) => readParameter(document, entry))
  const bodyOf = once((value) => readBody(document, value))
  const scopesOf = once(readScopes)
  const addressOf = once((servers) => baseOf(servers, documentUrl))
  const textsOf = once(readTexts)
  for (const [path, entry] of Object.entries(document.paths)) {
    const item = resolve(document, entry)
    if (!isJsonObject(item) || !path.startsWith('/') || path.length > maxUrl) continue
    for (const method of methods) {
      if (operations.length >= maxOperations) return operations
      const operation = item[method]
      if (!isJsonObject(operation)) continue
      const base = addressOf(operation.servers ?? item.servers ?? document.servers)
      if (base === undefined) continue
      const stated = text(operation.operationId, maxName)
      const id = stated === undefined || taken.has(stated) ? `${method.toUpperCase()} ${cleanText(path)}` : stated
      taken.add(id)
      operations.push({
        id,
        method: method.toUpperCase(),
        path,
        base,
        ...textsOf(operation),
        parameters: merge([item.parameters, operation.parameters], parametersOf),
        body: bodyOf(operation.requestBody),
        scopes: scopesOf(operation.security ?? document.security),
      })
    }
  }
  return operations
}

function readTexts(operation: unknown): Pick<ApiOperation, 'summary' | 'description'> {
  const { summary, description } = isJsonObject(operation) ? operation : {}
  return {
    summary: text(summary, 300),
    description: typeof description === 'string' ? cleanLines(description.slice(0, maxDescription)) : undefined,
  }
}

/** Reads each object once. */
function once<T>(read: (value: unknown) => T): (value: unknown) => T {
  const known = new Map<unknown, T>()
  return (value) => {
    if (typeof value !== 'object' || value === null) return read(value)
    const before = known.get(value)
    if (before !== undefined || known.has(value)) return before as T
    const result = read(value)
    known.set(value, result)
    return result
  }
}

/** Follows local references, `#/…`, a few steps; anything else is left out. */
export function resolve(document: Json, value: unknown, steps = 8): unknown {
  if (!isJsonObject(value) || typeof value.$ref !== 'string') return value
  if (steps === 0 || value.$ref.length > maxUrl || !value.$ref.startsWith('#/')) return undefined
  let found: unknown = document
  const parts = value.$ref.slice(2).split('/')
  if (parts.length > maxPointer) return undefined
  for (const part of parts) {
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
  if (!isJsonObject(first) || typeof first.url !== 'string' || first.url.length > maxUrl) return undefined
  const variables = isJsonObject(first.variables) ? first.variables : {}
  const url = first.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = variables[name]
    return isJsonObject(variable) && typeof variable.default === 'string' ? variable.default.slice(0, maxName) : whole
  })
  return url.length > maxUrl ? undefined : URL.parse(url, documentUrl)?.href
}

/** The operation's own parameter replaces the path's. */
function merge(
  lists: readonly unknown[],
  read: (entry: unknown) => OperationParameter | undefined,
): readonly OperationParameter[] {
  const found = new Map<string, OperationParameter>()
  for (const list of lists) {
    for (const entry of Array.isArray(list) ? (list as readonly unknown[]).slice(0, maxParameters) : []) {
      const parameter = read(entry)
      if (parameter) found.set(`${parameter.in} ${parameter.name}`, parameter)
    }
  }
  return [...found.values()]
}

function readParameter(document: Json, entry: unknown): OperationParameter | undefined {
  const parameter = resolve(document, entry)
  if (!isJsonObject(parameter) || typeof parameter.name !== 'string' || parameter.name.length > maxName)
    return undefined
  const place = parameter.in
  if (place !== 'path' && place !== 'query' && place !== 'header') return undefined
  const style = typeof parameter.style === 'string' ? parameter.style : place === 'query' ? 'form' : 'simple'
  return {
    name: parameter.name,
    in: place,
    required: place === 'path' || parameter.required === true,
    description: text(parameter.description, 500),
    schema: schemaOf(document, parameter.schema),
    style,
    explode: typeof parameter.explode === 'boolean' ? parameter.explode : style === 'form',
  }
}

function readBody(document: Json, value: unknown): ApiOperation['body'] {
  const body = resolve(document, value)
  if (!isJsonObject(body) || !isJsonObject(body.content)) return undefined
  const types = Object.keys(body.content).filter((type) => type.length <= maxName)
  // What can be sent from here comes first, JSON before all.
  const contentType = types.find(isJsonType) ?? types.find(isFormType) ?? types.find(isTextType) ?? types[0]
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

/** Whether a media type is that of a plain form. */
export function isFormType(type: string): boolean {
  return /^application\/x-www-form-urlencoded *(;|$)/i.test(type)
}

/** Whether a media type is text as it stands. */
export function isTextType(type: string): boolean {
  return /^text\/plain *(;|$)/i.test(type)
}

function schemaOf(document: Json, value: unknown): Json {
  const schema = resolve(document, value)
  return isJsonObject(schema) ? schema : {}
}

/** The scopes of the requirement that asks for least. */
function readScopes(security: unknown): readonly string[] | undefined {
  if (!Array.isArray(security)) return undefined
  const alternatives = security
    .slice(0, maxAlternatives)
    .filter(isJsonObject)
    .map((requirement) => [
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
