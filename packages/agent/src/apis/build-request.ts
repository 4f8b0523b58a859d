import { isJsonObject } from '@poppyseed/protocol'
import { AgentError } from '../errors.ts'
import { type ApiOperation, isFormType, isJsonType, isTextType, type Json, type OperationParameter } from './openapi.ts'

/** Makes the request of an operation from named values (6). */

/** Values by name. What is no parameter becomes the JSON body; `body` gives the whole body. */
export type CallInput = Readonly<Record<string, unknown>>

/** A request before a token is put to it. */
export interface BuiltRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: string | undefined
}

// What is ours, the connection's or the browser's to set
const ownHeaders =
  /^(authorization|dpop|cookie|cookie2|host|content-length|content-type|connection|transfer-encoding|te|upgrade|expect|proxy-.*|sec-.*)$/i

/** @throws AgentError `invalid_input`, with a sentence that says which value is wrong */
export function buildRequest(operation: ApiOperation, input: CallInput): BuiltRequest {
  const headers = new Headers({ accept: 'application/json' })
  const query: string[] = []
  const used = new Set<string>()
  const path = operation.path.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find((one) => one.in === 'path' && one.name === name)
    used.add(name)
    return pathSegment(name, inputOf(input, name), parameter)
  })
  for (const parameter of operation.parameters) {
    if (parameter.in === 'path') continue
    const { name } = parameter
    const value = inputOf(input, name)
    used.add(name)
    if (value === undefined || value === null) {
      if (parameter.required) throw invalid(`${operation.id} needs ${name}.`)
    } else if (parameter.in === 'query') {
      query.push(...queryPairs(parameter, value))
    } else {
      setHeader(headers, name, value)
    }
  }
  const body = bodyOf(operation, input, used)
  if (body !== undefined) headers.set('content-type', operation.body?.contentType ?? 'application/json')

  const url = new URL(operation.base)
  const prefix = url.pathname.replace(/\/$/, '')
  url.search = query.join('&')
  url.hash = ''
  url.pathname = prefix + path
  return { method: operation.method, url: url.href, headers, body }
}

function bodyOf(operation: ApiOperation, input: CallInput, used: ReadonlySet<string>): string | undefined {
  const rest = Object.entries(input).filter(([name, value]) => !used.has(name) && value !== undefined)
  const { body } = operation
  if (!body) {
    const [unknown] = rest
    if (unknown) throw invalid(`${operation.id} has no input named ${unknown[0]}.`)
    return undefined
  }
  const whole =
    rest.length === 1 && rest[0]?.[0] === 'body' && !hasProperty(body.schema, 'body') ? rest[0][1] : undefined
  if (whole === undefined && rest.length === 0 && !body.required) return undefined
  const value = whole ?? Object.fromEntries(rest)
  if (isJsonType(body.contentType)) return JSON.stringify(value)
  if (isFormType(body.contentType) && isJsonObject(value)) return formOf(value)
  if (isTextType(body.contentType) && typeof value === 'string') return value
  throw invalid(`${operation.id} takes ${body.contentType}, which can't be sent from here with this input.`)
}

/** A form as OpenAPI has it where a document says nothing else: a list is its name several times. */
function formOf(value: Json): string {
  const pairs = Object.entries(value).flatMap(([name, one]) =>
    (Array.isArray(one) ? (one as readonly unknown[]) : [one])
      .filter((each) => each !== undefined && each !== null)
      .map((each): [string, string] => [name, scalar(each)]),
  )
  return new URLSearchParams(pairs).toString()
}

function hasProperty(schema: Json, name: string): boolean {
  return isJsonObject(schema.properties) && Object.hasOwn(schema.properties, name)
}

function pathSegment(name: string, value: unknown, parameter: OperationParameter | undefined): string {
  if (value === undefined || value === null || value === '') throw invalid(`${name} is needed.`)
  if (parameter && parameter.style !== 'simple')
    throw invalid(`${name} has a style that can't be written: ${parameter.style}.`)
  const segment = Array.isArray(value) ? value.map(scalar).map(encode).join(',') : encode(scalar(value))
  // "." and ".." would change which path is called, and so would nothing at all.
  if (/^(?:(?:\.|%2e){1,2})?$/i.test(segment)) throw invalid(`${name} can't be "${segment}".`)
  return segment
}

function queryPairs({ name, style, explode }: OperationParameter, value: unknown): readonly string[] {
  const pair = (key: string, one: unknown) => `${encode(key)}=${encode(scalar(one))}`
  if (Array.isArray(value)) {
    if (explode) return value.map((one) => pair(name, one))
    const separator = style === 'pipeDelimited' ? '|' : style === 'spaceDelimited' ? ' ' : ','
    return [
      `${encode(name)}=${value
        .map(scalar)
        .map(encode)
        .join(separator === ' ' ? '%20' : separator)}`,
    ]
  }
  if (isJsonObject(value)) {
    const members = Object.entries(value).filter(([, one]) => one !== undefined)
    if (style === 'deepObject') return members.map(([key, one]) => pair(`${name}[${key}]`, one))
    if (explode) return members.map(([key, one]) => pair(key, one))
    return [`${encode(name)}=${members.flatMap(([key, one]) => [encode(key), encode(scalar(one))]).join(',')}`]
  }
  return [pair(name, value)]
}

function setHeader(headers: Headers, name: string, value: unknown): void {
  if (ownHeaders.test(name)) return
  const text = Array.isArray(value) ? value.map(scalar).join(',') : scalar(value)
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) || !/^[\x20-\x7e]*$/.test(text)) {
    throw invalid(`${name} can't be sent as a header.`)
  }
  headers.set(name, text)
}

function inputOf(input: CallInput, name: string): unknown {
  return Object.hasOwn(input, name) ? input[name] : undefined
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function invalid(message: string): AgentError {
  return new AgentError('invalid_input', message)
}
