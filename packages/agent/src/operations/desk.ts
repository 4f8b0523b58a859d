import { isJsonObject, JsonError, parseStrictJson } from '@poppyseed/protocol'
import { authorisedFetch } from '../apis/authorised-fetch.ts'
import type { AgentContext } from '../context.ts'
import type { FoundCompany } from '../discovery/discover.ts'
import { AgentError } from '../errors.ts'
import { dateOf } from '../net/clocks.ts'
import { readText } from '../net/exchange.ts'
import { readRetryAfter } from '../net/retry-after.ts'
import { cleanText } from '../net/text.ts'
import type { SessionTokens } from '../sessions/tokens.ts'
import { type OperationCopy, readCopy } from './copy.ts'
import { requireOperations } from './service.ts'

/** The three requests of the operations endpoint (Operations 3): read, confirm, cancel. */

/** What an operation's requests work with. */
export interface OperationParts {
  readonly context: AgentContext
  readonly tokens: SessionTokens
  readonly find: () => Promise<FoundCompany>
  /** What the Company was opened by. */
  readonly address: string
}

/** An answer of the endpoint: the operation as it is now. */
export interface Taken {
  readonly copy: OperationCopy
  /** Milliseconds until it makes sense to ask again; undefined where nothing is said. */
  readonly pause: number | undefined
  readonly refusal?: undefined
}

/** A refusal, with the operation as it is now where the Company says. */
export interface Refused {
  readonly refusal: AgentError
  readonly copy: OperationCopy | undefined
  /** As it stands beside the error: nobody has looked at it. */
  readonly confirmationUrl: unknown
}

const maxBytes = 512 * 1024
const maxDepth = 32
const maxValues = 20_000
/** The longest pause that a Company can ask for between two questions, in seconds. */
const maxPause = 300

/** An id as it goes into an address. @throws AgentError `invalid_input` */
export function checkId(id: string): string {
  if (typeof id === 'string' && /^[A-Za-z0-9_-]{1,256}$/.test(id)) return id
  throw new AgentError('invalid_input', `"${cleanText(String(id), 80)}" is not the id of an operation.`)
}

/** Asks for an operation as it is now. @throws AgentError */
export async function readAtCompany(parts: OperationParts, id: string, signal?: AbortSignal): Promise<Taken> {
  const answer = await ask(parts, 'GET', id, '', undefined, signal)
  if (answer.refusal) throw answer.refusal
  return answer
}

/** Confirms a revision. */
export function confirmAtCompany(
  parts: OperationParts,
  id: string,
  confirmation: { readonly revision: number; readonly approved_by: string },
  signal?: AbortSignal,
): Promise<Taken | Refused> {
  return ask(parts, 'POST', id, '/confirm', confirmation, signal)
}

/** Asks the Company to stop it, which may come too late. */
export function cancelAtCompany(parts: OperationParts, id: string, signal?: AbortSignal): Promise<Taken | Refused> {
  return ask(parts, 'POST', id, '/cancel', {}, signal)
}

async function ask(
  parts: OperationParts,
  method: 'GET' | 'POST',
  id: string,
  path: '' | '/confirm' | '/cancel',
  body: object | undefined,
  signal: AbortSignal | undefined,
): Promise<Taken | Refused> {
  const { context, tokens } = parts
  const found = await parts.find()
  const { endpoint, resource } = requireOperations(found, context.allowHttp)
  const headers = new Headers({ accept: 'application/json' })
  if (body !== undefined) headers.set('content-type', 'application/json')
  const response = await authorisedFetch(
    context,
    tokens,
    {
      method,
      url: `${endpoint}/${checkId(id)}${path}`,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      seconds: context.seconds.call,
    },
    { company: found.name, origin: new URL(endpoint).origin, wanted: { kind: 'dpop', resource } },
  )
  const text = await readText(response, maxBytes)
  const retryAfter = response.headers.get('retry-after')
  const seconds = retryAfter === null ? undefined : readRetryAfter(retryAfter, dateOf(response) ?? context.now())
  if (response.status >= 500) {
    throw new AgentError('company_error', `${found.name} answered HTTP ${response.status}.`, {
      status: response.status,
      ...(seconds === undefined ? {} : { retryAfter: seconds }),
    })
  }
  const stated = read(text)
  const copy = readCopy(stated, response.ok)
  // The one that was asked for, or nobody's: an answer about another one is never taken for it.
  if (copy && copy.wire.operation_id !== id) {
    throw new AgentError('bad_answer', `${found.name} answered with another operation than the one that was asked for.`)
  }
  if (response.status >= 400) return refused(found.name, response.status, stated, copy)
  if (!copy) {
    throw new AgentError(
      'bad_answer',
      `${found.name} answered with something that is no operation, or one that nobody could be shown whole.`,
    )
  }
  return { copy, pause: seconds === undefined ? undefined : Math.min(seconds, maxPause) * 1000 }
}

function read(text: string): unknown {
  try {
    return parseStrictJson(text, maxDepth, maxValues)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

function refused(company: string, status: number, stated: unknown, copy: OperationCopy | undefined): Refused {
  const { error, error_description, confirmation_url } = isJsonObject(stated) ? stated : {}
  const companyCode = typeof error === 'string' ? error : undefined
  const said = typeof error_description === 'string' ? error_description : companyCode
  const code = status === 404 ? 'operation_not_found' : 'call_failed'
  const sentence =
    code === 'operation_not_found'
      ? `${company} knows no such operation of yours.`
      : said === undefined
        ? `${company} answered HTTP ${status}.`
        : `${company} answered: ${cleanText(said, 500)}`
  return { refusal: new AgentError(code, sentence, { status, companyCode }), copy, confirmationUrl: confirmation_url }
}
