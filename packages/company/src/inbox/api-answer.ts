import { type ErrorCode, PoppyError } from '@poppyseed/protocol'
import { type BrowserFinder, isAgentsBrowser } from '../browser/people-only.ts'
import { mediaType, readJsonObject } from '../http/body.ts'
import { errorResponse, json } from '../http/respond.ts'
import { cleanIssue } from '../tools/issue.ts'
import { askedSchemas } from './api-asked.ts'
import { writeApiDocument } from './api-document.ts'
import type { ApiOperation } from './api-operation.ts'
import { apiOperations } from './api-operations.ts'
import type { ApiEndpoint } from './api-paths.ts'
import { isUnseen } from './own-reads.ts'
import type { InboxParts } from './parts.ts'
import type { SignedInStaff } from './settings.ts'
import { isStillStaff, staffOf } from './staff-member.ts'

/** The JSON API of the inbox over HTTP: who asks, what they ask, and how it is told. */

/** Bytes of a body: what a tool's input may have. */
const mostBytes = 1_048_576

const headers = { 'x-content-type-options': 'nosniff' }

/** What is asked of the API, beside the request itself. */
export interface ApiRequest {
  readonly parts: InboxParts
  readonly browser: BrowserFinder | null
}

/** Answers at an endpoint. */
export async function answerApi(
  request: Request,
  endpoint: ApiEndpoint,
  id: string,
  { parts, browser }: ApiRequest,
): Promise<Response> {
  const operation = apiOperations[endpoint]
  const me = await whoAsks(request, { parts, browser })
  if (me instanceof Response) return me
  const since = parts.now()
  const asked = await readAsked(request, operation, endpoint)
  if (!(await isStillStaff(request, me, { ...parts, since }))) return signedOut()
  const value = await operation.run({
    parts,
    request,
    me,
    staff: { id: me.id, name: me.name },
    id,
    // What was read by a name is of that name's type.
    asked: asked as never,
    options: keyOf(request),
  })
  return json(value, 200, headers)
}

/** The document: for staff, as all of the inbox is. */
export async function showApiDocument(request: Request, { parts, browser }: ApiRequest): Promise<Response> {
  const me = await whoAsks(request, { parts, browser })
  return me instanceof Response ? me : json(writeApiDocument(parts), 200, headers)
}

/** How an error is told; the challenge of agents' tokens is none for staff. */
export function failedApi(error: unknown, { log, random }: InboxParts): Response {
  const response = errorResponse(error, { scheme: 'DPoP' }, log, random)
  response.headers.delete('www-authenticate')
  return response
}

/**
 * Who of the staff asks, or the answer to whoever doesn't. A browser says where a request comes from: what another site's page
 * sends carries the cookie of whoever looks at it.
 */
async function whoAsks(request: Request, { parts, browser }: ApiRequest): Promise<SignedInStaff | Response> {
  if (isFromElsewhere(request, parts.origin) || isUnseen(request)) {
    countWrong(request, parts)
    return refusal('access_denied', 403, 'Requests of pages at other sites are refused.')
  }
  // 5: an agent's browser may hold a cookie of the company's own login
  if (browser !== null && (await isAgentsBrowser(request, browser)))
    return refusal('access_denied', 403, 'This is for the company’s own people.')
  const me = await staffOf(request, parts.settings)
  if (me !== null) return me
  countWrong(request, parts)
  return signedOut()
}

const signedOut = () => refusal('sign_in_required', 401, 'Sign in as a member of staff.')

/** Like forms of strangers at the pages. A dashboard that was signed out and goes on asking keeps nobody else out. */
function countWrong(request: Request, { requestLimits }: InboxParts): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') requestLimits.countConsent(request)
}

function isFromElsewhere({ headers: sent, method }: Request, origin: string): boolean {
  const site = sent.get('sec-fetch-site')
  // `none`: typed by the person themselves; a page sends nothing so.
  const isOwn = site === null || site === 'same-origin' || (site === 'none' && method === 'GET')
  const from = sent.get('origin')
  return !isOwn || (from !== null && from !== origin)
}

function refusal(code: ErrorCode, status: number, description: string): Response {
  return json({ error: code, error_description: description }, status, headers)
}

/** Reads the query of a GET, or the body of anything else. @throws PoppyError `invalid_request` and what `readJsonObject` throws */
async function readAsked(request: Request, { asked }: ApiOperation, endpoint: ApiEndpoint): Promise<unknown> {
  const sent = endpoint.startsWith('GET') ? readQuery(request) : await readSent(request)
  const read = askedSchemas[asked].safeParse(sent)
  if (read.success) return read.data
  throw new PoppyError('invalid_request', {
    description: 'Something of it is wrong. See `issues`.',
    extra: {
      issues: read.error.issues.slice(0, 20).map(({ path, message }) => cleanIssue(sent, path.map(String), message)),
    },
  })
}

function readQuery(request: Request): Readonly<Record<string, string>> {
  const query = URL.parse(request.url)?.searchParams ?? new URLSearchParams()
  const members: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of query) {
    if (name in members)
      throw new PoppyError('invalid_request', { description: 'A parameter of the query stands there twice.' })
    members[name] = value
  }
  return { ...members }
}

/** No form of another site's can send this type, and a script of one has to ask first, which nobody answers. */
async function readSent(request: Request): Promise<unknown> {
  if (mediaType(request) !== 'application/json')
    throw new PoppyError('unsupported_media_type', {
      description: 'Send content-type: application/json, also with {}.',
    })
  return readJsonObject(request, mostBytes)
}

/** @throws PoppyError `invalid_request` */
function keyOf(request: Request): { readonly key?: string } {
  const key = request.headers.get('idempotency-key')
  if (key === null) return {}
  if (!/^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/.test(key))
    throw new PoppyError('invalid_request', { description: 'Idempotency-Key is a text of at most 200 characters.' })
  return { key }
}
