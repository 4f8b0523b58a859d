import { isJsonObject, JsonError, PoppyError, parseScope, parseStrictJson } from '@poppyseed/protocol'
import { mediaType, readBody } from '../../http/body.ts'
import { json } from '../../http/respond.ts'
import type { Authenticator } from '../../sessions/authenticate.ts'
import { principalStill } from '../../sessions/late-body.ts'
import type { Principal } from '../../sessions/principal.ts'
import { tokensOf } from '../../sessions/token-response.ts'
import type { Scope } from '../../store/database.ts'
import { beginMediated, finishMediated, type MediatedOutcome, type MediatedRules } from './mediated-sign-in.ts'

/** Section 4.7 on the wire: credentials in, a status and perhaps tokens out. Nothing that came in goes out again. */

/** What the endpoint needs. */
export interface MediatedEndpoint extends MediatedRules {
  readonly authenticator: Authenticator
  readonly scope: () => Promise<Scope>
}

const bodyLimit = 16_384
const longestCredential = 1024

/** `POST {endpoint}`: `{ scope, credentials }`. */
export async function signInMediated(request: Request, endpoint: MediatedEndpoint): Promise<Response> {
  const { body, principal, thumbprint } = await receive(request, endpoint)
  const scopes = parseScope(typeof body.scope === 'string' ? body.scope : '')
  if (scopes === null || scopes.length === 0)
    throw new PoppyError('invalid_scope', { description: 'scope is missing or malformed.' })
  if (!scopes.every((scope) => endpoint.mediated.scopes.includes(scope)))
    throw new PoppyError('invalid_scope', { description: 'Mediated Sign-In does not offer all of these scopes.' })
  const credentials = readCredentials(body.credentials, endpoint)
  const outcome = await beginMediated(await endpoint.scope(), principal, principal, { scopes, credentials }, endpoint)
  return answer(outcome, { clientId: principal.clientId, thumbprint }, endpoint)
}

/** `POST {endpoint}/{sign_in_id}`: `{ code }`. */
export async function submitCode(request: Request, id: string, endpoint: MediatedEndpoint): Promise<Response> {
  const { body, principal, thumbprint } = await receive(request, endpoint)
  const { code } = body
  if (typeof code !== 'string' || code === '')
    throw new PoppyError('invalid_request', { description: 'code is missing.' })
  if (Object.hasOwn(body, 'credentials'))
    throw new PoppyError('invalid_request', { description: 'Send the code alone, never the credentials again.' })
  const outcome = await finishMediated(await endpoint.scope(), principal, principal, { id, code }, endpoint)
  return answer(outcome, { clientId: principal.clientId, thumbprint }, endpoint)
}

/** The body, and who has sent it: its token and its Session may be over by the time it has come whole (4.3, 4.9). */
async function receive(
  request: Request,
  { authenticator, scope, token: { now, limits } }: MediatedEndpoint,
): Promise<{
  readonly body: Record<string, unknown>
  readonly principal: Principal
  readonly thumbprint: string
}> {
  const holder = await authenticator.withKey(request)
  const since = now()
  const body = await readObject(request)
  return { body, principal: await principalStill(holder, { scope, now, limits, since }), thumbprint: holder.thumbprint }
}

async function answer(
  outcome: MediatedOutcome,
  { clientId, thumbprint }: { readonly clientId: string; readonly thumbprint: string },
  { token }: MediatedEndpoint,
): Promise<Response> {
  if (outcome.status === 'complete') {
    token.rightsChanged()
    if (outcome.issued.begun !== undefined) await token.connections?.tell(outcome.issued.begun)
    const binding = { type: 'DPoP', thumbprint, resource: undefined } as const
    return json({ status: 'complete', ...tokensOf({ client: { clientId }, settings: token, binding }, outcome.issued) })
  }
  if (outcome.status === 'code_required') {
    return json({
      status: 'code_required',
      sign_in_id: outcome.id,
      code: { sent_to: outcome.sentTo },
      expires_at: new Date(outcome.expiresAt).toISOString(),
    })
  }
  return json({ status: outcome.status })
}

async function readObject(request: Request): Promise<Record<string, unknown>> {
  const text = await readBody(request, bodyLimit)
  if (mediaType(request) !== 'application/json')
    throw new PoppyError('unsupported_media_type', { description: 'The body must be application/json.' })
  let body: unknown
  try {
    body = parseStrictJson(text, 8)
  } catch (error) {
    // Without the cause: a parser's message may quote what it read.
    throw new PoppyError('invalid_request', {
      description: error instanceof JsonError ? 'The body is not one plain JSON text.' : 'The body is not JSON.',
    })
  }
  if (!isJsonObject(body)) throw new PoppyError('invalid_request', { description: 'The body must be a JSON object.' })
  return body
}

/** Every field that is listed, and nothing else; an error names the field and never its value. */
function readCredentials(given: unknown, { mediated }: MediatedEndpoint): Readonly<Record<string, string>> {
  if (!isJsonObject(given))
    throw new PoppyError('invalid_request', { description: 'credentials must be an object with each listed field.' })
  const credentials: Record<string, string> = Object.create(null)
  for (const { name } of mediated.fields) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (typeof value !== 'string' || value === '' || value.length > longestCredential)
      throw new PoppyError('invalid_request', { description: `credentials.${name} must be a text.` })
    credentials[name] = value
  }
  return Object.freeze(credentials)
}
