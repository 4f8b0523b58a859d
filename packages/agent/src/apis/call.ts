import { type ApiEntry, isJsonObject } from '@poppyseed/protocol'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { readText } from '../net/exchange.ts'
import { cleanText } from '../net/text.ts'
import type { OperationParts } from '../operations/desk.ts'
import type { Operation } from '../operations/operation.ts'
import { noteOperation } from '../operations/operations.ts'
import { refuseConfirmation } from '../operations/service.ts'
import { authorisedFetch } from './authorised-fetch.ts'
import { buildRequest, type CallInput } from './build-request.ts'
import { type ApiOperation, isJsonType, type Json, readOperations } from './openapi.ts'

/** Calls the operations that a Company's OpenAPI documents describe (6). */

/** An operation, with the API that it belongs to. */
export interface CompanyApiOperation extends ApiOperation {
  /** `url` of the API's entry in `poppy.json`. */
  readonly api: string
  readonly resource: string | undefined
}

/** What an operation answered. */
export interface CallResult {
  readonly status: number
  readonly contentType: string
  /** Parsed where it is JSON, else the text. */
  readonly body: unknown
  /** What the Company proposes instead of having done it; undefined where it doesn't. */
  readonly operation: Operation | undefined
}

const maxDocumentBytes = 4 * 1024 * 1024
const maxDocumentValues = 300_000
/** As many of a kind as are looked at. */
const maxApis = 20
const maxAnswerBytes = 8 * 1024 * 1024
/** Deeper than anything that somebody would read. */
const maxDepth = 200

/** The APIs of a type that we know; others are skipped (6), and so is what a Company lists beyond all measure. */
export function apisOf(found: FoundCompany, type: 'openapi' | 'mcp'): readonly ApiEntry[] {
  return found.discovery.apis.filter((api) => api.type === type).slice(0, maxApis)
}

/** What operations and tools are listed with. */
export interface ListOptions {
  /** Told of an API that can't be read, whose operations are then left out; without it, that is an error. */
  readonly onUnavailable?: (error: AgentError, api: string) => void
}

/** All operations of all OpenAPI documents of a Company. */
export async function listOperations(
  context: AgentContext,
  found: FoundCompany,
  { onUnavailable }: ListOptions = {},
): Promise<readonly CompanyApiOperation[]> {
  const operations: CompanyApiOperation[] = []
  for (const { url } of apisOf(found, 'openapi')) {
    try {
      operations.push(...(await readApi(context, found, url)).operations)
    } catch (error) {
      if (!(error instanceof AgentError) || !onUnavailable) throw error
      onUnavailable(error, url)
    }
  }
  return operations
}

/** One OpenAPI document of a Company, with the operations in it. @param url `url` of its entry in `poppy.json` */
export async function readApi(
  context: AgentContext,
  found: FoundCompany,
  url: string,
): Promise<{ readonly operations: readonly CompanyApiOperation[]; readonly document: Json }> {
  const api = apisOf(found, 'openapi').find((one) => one.url === url)
  if (!api) throw new AgentError('unknown_operation', `${found.name} does not list this API.`)
  // The document is read like poppy.json: it describes the API and is no call to it.
  const document = await context.readDocument(api.url, {
    maxBytes: maxDocumentBytes,
    maxValues: maxDocumentValues,
    allowHttp: context.allowHttp,
    what: `OpenAPI document at ${new URL(api.url).host}`,
  })
  return { operations: operationsOf(document, api), document: isJsonObject(document) ? document : {} }
}

/** What was read of a document, as long as the reader gives the same one. */
const read = new WeakMap<object, readonly CompanyApiOperation[]>()

function operationsOf(document: unknown, api: ApiEntry): readonly CompanyApiOperation[] {
  const before = typeof document === 'object' && document !== null ? read.get(document) : undefined
  if (before?.every((one) => one.api === api.url && one.resource === api.resource)) return before
  // 6: relative to where the Company published it, not to where that redirects
  const operations = readOperations(document, api.url).map((operation) => ({
    ...operation,
    api: api.url,
    resource: api.resource,
  }))
  if (typeof document === 'object' && document !== null) read.set(document, operations)
  return operations
}

/**
 * Calls one operation.
 * @param options `api`: the API that it is in; without it, the first that has it
 * @throws AgentError; `call_failed` for an answer of 400 and above, with the Company's code
 */
export async function callOne(
  parts: OperationParts,
  found: FoundCompany,
  operationId: string,
  input: CallInput,
  { api, signal }: { readonly api?: string; readonly signal?: AbortSignal } = {},
): Promise<CallResult> {
  const { context, tokens } = parts
  const operation = await findOperation(context, found, operationId, api)
  const request = buildRequest(operation, input)
  refuseConfirmation(found, context.allowHttp, request.method, request.url)
  const response = await authorisedFetch(
    context,
    tokens,
    { ...request, signal, seconds: context.seconds.call },
    {
      company: found.name,
      origin: new URL(operation.api).origin,
      wanted: { kind: 'dpop', resource: operation.resource },
      ...(operation.scopes === undefined ? {} : { scopes: operation.scopes }),
    },
  )
  const text = await readText(response, maxAnswerBytes)
  const contentType = response.headers.get('content-type') ?? ''
  const body = isJsonType(contentType) ? parse(text, found.name) : text
  if (response.status >= 400) throw callError(found.name, response.status, body)
  const { status } = response
  // Operations 4.1: 202 says that it is a proposal
  const proposed = await noteOperation(parts, body, operation.id, status === 202)
  return { status, contentType, body, operation: proposed }
}

/** An API that can't be read is in nobody's way who calls another. */
async function findOperation(
  context: AgentContext,
  found: FoundCompany,
  id: string,
  api: string | undefined,
): Promise<CompanyApiOperation> {
  let unread: unknown
  for (const { url } of apisOf(found, 'openapi').filter((one) => api === undefined || one.url === api)) {
    try {
      const operation = (await readApi(context, found, url)).operations.find((one) => one.id === id)
      if (operation) return operation
    } catch (error) {
      unread ??= error
    }
  }
  throw unread ?? new AgentError('unknown_operation', `${found.name} has no operation named ${cleanText(id, 80)}.`)
}

function parse(text: string, company: string): unknown {
  if (text === '') return null
  // Whoever goes through it goes by recursion.
  if (isDeeper(text, maxDepth)) throw new AgentError('bad_answer', `${company} answered with JSON nested too deeply.`)
  try {
    return JSON.parse(text)
  } catch {
    throw new AgentError('bad_answer', `${company} answered with JSON that can't be read.`)
  }
}

/** Whether brackets outside of strings stand deeper than so much. */
function isDeeper(text: string, most: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5c) at += 1
    else if (code === 0x22) inString = !inString
    else if (!inString && (code === 0x5b || code === 0x7b)) depth += 1
    else if (!inString && (code === 0x5d || code === 0x7d)) depth -= 1
    if (depth > most) return true
  }
  return false
}

/** An API's own refusal, in its words, cleaned. */
function callError(company: string, status: number, body: unknown): AgentError {
  const stated = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const { error, error_description, message } = stated
  const companyCode = typeof error === 'string' ? error : undefined
  const said = [error_description, message, error].find((one): one is string => typeof one === 'string' && one !== '')
  return new AgentError(
    status >= 500 ? 'company_error' : 'call_failed',
    said === undefined
      ? `${company} answered HTTP ${status}.`
      : `${company} answered: ${cleanText(`${said}${detailsOf(stated)}`, 500)}`,
    { status, companyCode },
  )
}

/** What helps whoever has to mend the input or to ask the Company: what is wrong where, and the id of the error. */
function detailsOf({ issues, error_id }: Record<string, unknown>): string {
  const told = (Array.isArray(issues) ? (issues as readonly unknown[]) : []).flatMap((issue) => {
    if (!isJsonObject(issue) || typeof issue.message !== 'string') return []
    const path = typeof issue.path === 'string' ? issue.path.replace(/^\//, '') : ''
    return [path === '' ? issue.message : `${path}: ${issue.message}`]
  })
  return `${told.length === 0 ? '' : ` ${told.join('; ')}.`}${typeof error_id === 'string' ? ` Error id: ${error_id}` : ''}`
}
