import { errorResponseSchema, formatScope, tokenResponseSchema } from '@poppyseed/protocol'
import { z } from 'zod'
import { authorisedFetch } from '../apis/authorised-fetch.ts'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { readText } from '../net/exchange.ts'
import { cleanText, withoutSecrets } from '../net/text.ts'
import { retire } from './retired.ts'
import { endOf, type SignInResult, scopesToAsk } from './sign-in-end.ts'
import type { SessionTokens, TokenSource } from './tokens.ts'

/**
 * Mediated Sign-In (4.7): with credentials that the User gave this agent for this Company. They go in the body of a request
 * to `auth.mediated.endpoint` and nowhere else: not to a redirect, not into the store, an error or a log. They are let go of
 * when the sign-in ends.
 */

/** A credential that the Company asks for. */
export interface CredentialField {
  /** The key under which it is sent. */
  readonly name: string
  /** What to ask the User for; text of the Company, cleaned. */
  readonly label: string
  /** Never to be shown, logged, or sent anywhere else. */
  readonly secret: boolean
}

/** A one-time code that the Company has sent to the User. */
export interface CodeRequest {
  /** Where it went, in the Company's words, cleaned. */
  readonly sentTo: string
  /** Until when it counts, Unix time in milliseconds, where the Company says it. */
  readonly expiresAt: number | undefined
  /** True where the code before was wrong. */
  readonly isRepeated: boolean
}

/** What to sign in for, and where the credentials come from. */
export type MediatedSignInRequest = {
  readonly scopes: readonly string[]
  /** Gets the one-time code from the User, where the Company asks for one; undefined gives up. */
  readonly code?: (request: CodeRequest) => string | undefined | Promise<string | undefined>
} & (
  | {
      /** By name; each field that the Company lists. What else is in it is not sent. */
      readonly credentials: Readonly<Record<string, string>>
    }
  | {
      /** Gets them from the User once it is known which the Company wants. */
      readonly ask: (
        fields: readonly CredentialField[],
      ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>
    }
)

const answerSchema = z.discriminatedUnion('status', [
  tokenResponseSchema.extend({ status: z.literal('complete') }),
  z.object({
    status: z.literal('code_required'),
    // It becomes a part of an address, so it is what needs no escaping there.
    sign_in_id: z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,255}$/),
    code: z
      .object({ sent_to: z.string().max(2000).optional().catch(undefined) })
      .optional()
      .catch(undefined),
    expires_at: z.string().max(100).optional().catch(undefined),
  }),
  z.object({ status: z.literal('failed') }),
  z.object({ status: z.literal('expired') }),
])

type Answer = z.infer<typeof answerSchema>

/** The Company ends it sooner; this is for one that never does. */
const mostCodes = 10
const maxBytes = 64 * 1024

/**
 * Signs in with credentials.
 * @throws AgentError `sign_in_unavailable`, `invalid_input` for a field that is missing, `sign_in_failed`, `sign_in_expired`
 */
export async function signInMediated(
  context: AgentContext,
  found: FoundCompany & TokenSource,
  tokens: SessionTokens,
  request: MediatedSignInRequest,
): Promise<SignInResult> {
  const offered = found.discovery.signIn.mediated
  if (!offered) {
    throw new AgentError('sign_in_unavailable', `${found.name} takes no credentials from a Personal Agent.`)
  }
  const asked = await scopesToAsk(found, offered.scopes, tokens, request.scopes)
  const fields = offered.fields.map(({ name, label, secret }) => ({ name, label: cleanText(label, 100), secret }))
  const given = 'ask' in request ? await request.ask(fields) : request.credentials
  const credentials = pick(fields, given)
  const secrets = fields.filter(({ secret }) => secret).map(({ name }) => credentials[name] ?? '')
  const way: Way = { context, found, tokens, endpoint: offered.endpoint }

  let wasOther = false
  for (let turn = 0; ; turn++) {
    const answer = await send(way, offered.endpoint, { scope: formatScope(asked), credentials }, secrets)
    const end = await withCodes(way, answer, request.code, secrets)
    if (!isOfSession(end)) return keep(way, asked, end, secrets, wasOther)
    // 4.4: the Session has ended, or it is another account's: a new one takes the sign-in, once
    if (turn > 0) throw failed(found, 'The Session could not be signed in')
    wasOther = end === 'account_mismatch'
    await tokens.startAnew()
  }
}

interface Way {
  readonly context: AgentContext
  readonly found: FoundCompany & TokenSource
  readonly tokens: SessionTokens
  /** `auth.mediated.endpoint`. */
  readonly endpoint: string
}

/** Another Session has to take the sign-in (4.4). */
type OfSession = 'account_mismatch' | 'invalid_session'

function isOfSession(answer: Answer | OfSession): answer is OfSession {
  return typeof answer === 'string'
}

type Complete = Extract<Answer, { status: 'complete' }>

/** 4.7: every field that is listed, and nothing else. An error names the field and never its value. */
function pick(
  fields: readonly CredentialField[],
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    fields.map(({ name, label }) => {
      const value: unknown = Object.hasOwn(given, name) ? given[name] : undefined
      if (typeof value !== 'string' || value === '') {
        throw new AgentError('invalid_input', `This sign-in needs ${cleanText(name, 80)} (${label}).`)
      }
      return [name, value]
    }),
  )
}

/** Hands in one-time codes until the Company has decided. */
async function withCodes(
  way: Way,
  first: Answer | OfSession,
  getCode: MediatedSignInRequest['code'],
  secrets: readonly string[],
): Promise<Complete | OfSession> {
  const { context, found } = way
  let answer = first
  let expiresAt: number | undefined
  let sentTo = ''
  const typed = [...secrets]
  for (let codes = 0; ; codes++) {
    if (isOfSession(answer) || answer.status === 'complete') return answer
    if (answer.status === 'expired') throw codeExpired(found)
    if (answer.status === 'failed') {
      throw failed(found, codes === 0 ? 'The credentials were not accepted' : 'The one-time code was not accepted')
    }
    if (codes >= mostCodes) throw failed(found, 'It asked for one code after another')
    if (!getCode) throw failed(found, 'It sent a one-time code, and nobody was there to enter it')
    const { sign_in_id, code, expires_at } = answer
    const parsed = Date.parse(expires_at ?? '')
    // After a wrong code some repeat nothing but the id.
    if (Number.isFinite(parsed)) expiresAt = parsed
    if (code?.sent_to !== undefined) sentTo = cleanText(withoutSecrets(code.sent_to, typed), 200)
    const entered = await getCode({ sentTo, expiresAt, isRepeated: codes > 0 })
    if (entered === undefined || entered === '') throw failed(found, 'No one-time code was entered')
    if (expiresAt !== undefined && context.now() >= expiresAt) throw codeExpired(found)
    const url = new URL(way.endpoint)
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${sign_in_id}`
    // 4.7: the code alone, never the credentials again
    typed.push(entered)
    answer = await send(way, url.href, { code: entered }, typed)
  }
}

/** Sends one step with the current Session Token and reads what came back. Redirects are not followed. */
async function send(
  { context, found, tokens, endpoint }: Way,
  url: string,
  body: object,
  secrets: readonly string[],
): Promise<Answer | OfSession> {
  const response = await authorisedFetch(
    context,
    tokens,
    {
      method: 'POST',
      url,
      headers: new Headers({ 'content-type': 'application/json', accept: 'application/json' }),
      body: JSON.stringify(body),
      seconds: context.seconds.token,
    },
    {
      company: found.name,
      origin: new URL(endpoint).origin,
      wanted: { kind: 'dpop', resource: undefined },
      givesTokens: true,
    },
  )
  const text = await readText(response, maxBytes)
  const json = parseJson(text)
  if (response.ok) {
    const answer = answerSchema.safeParse(json)
    if (answer.success) return answer.data
    throw new AgentError('bad_answer', `${found.name} gave an answer to the sign-in that can't be used.`, {
      status: response.status,
    })
  }
  const said = errorResponseSchema.safeParse(json).data?.error
  if (said === 'account_mismatch' || said === 'invalid_session') return said
  const { status } = response
  // A code and no words: they might repeat what was sent.
  const isCode = said !== undefined && /^[a-z][a-z_]{0,60}$/.test(said)
  const companyCode = isCode ? withoutSecrets(said, secrets) : undefined
  if (status >= 500) {
    throw new AgentError('company_error', `${found.name} could not answer the sign-in.`, { status, companyCode })
  }
  throw new AgentError('sign_in_failed', `${found.name} refused the sign-in.`, { status, companyCode })
}

/** Keeps the tokens, unless there is in them what must not be kept. */
async function keep(
  { context, found, tokens }: Way,
  asked: readonly string[],
  { status: _, ...response }: Complete,
  secrets: readonly string[],
  wasOther: boolean,
): Promise<SignInResult> {
  const texts = Object.values(response).filter((value) => typeof value === 'string')
  // A PIN of four digits may stand in a random token by chance.
  const holdsSecret = (text: string) => secrets.some((secret) => secret.length > 5 && text.includes(secret))
  if (texts.some(holdsSecret)) {
    // What it gave is nobody's now; where the secret stands in it, it is not even kept to be revoked.
    const token = response.refresh_token
    if (token !== undefined && !holdsSecret(token)) await retire(context, tokens.place, { token, expiresAt: null })
    throw new AgentError('bad_answer', `${found.name} sent a credential back, so its answer was not used.`)
  }
  const end = await tokens.signIn(found, async () => ({ response }))
  if (end.failure) throw failed(found, 'The Session could not be signed in')
  return endOf(context, found, tokens.place, asked, { ...end, wasOther })
}

function failed({ name }: FoundCompany, why: string): AgentError {
  return new AgentError('sign_in_failed', `${name} did not complete the sign-in. ${why}.`)
}

function codeExpired({ name }: FoundCompany): AgentError {
  return new AgentError('sign_in_expired', `The one-time code of ${name} has expired. Begin again.`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Whoever asks checks the shape, and undefined has none.
    return undefined
  }
}
