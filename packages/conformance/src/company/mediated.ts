import { isJsonObject, PoppyError, parseScope } from '@poppyseed/protocol'
import { type Reply, reply } from '../delivery.ts'
import { offeredScopes } from './authorization.ts'
import type { Exchange } from './exchange.ts'
import { type MediatedRecord, random } from './ledger.ts'
import { authenticate, type ServiceParts } from './services.ts'
import { issueTokens, newGrant, type TokenParts } from './token-endpoint.ts'
import { hostileText } from './words.ts'

/** Mediated Sign-In (4.7). Whoever comes has the right credentials, and the right code: what matters is where they go. */

/** What it asks for. */
export const credentialFields = [
  { name: 'email', label: 'Email', secret: false },
  { name: 'password', label: 'Password', secret: true },
] as const

/** The right one-time code. */
export const oneTimeCode = '471147'

/** Shorter ones stand in other texts by chance. */
const shortestSecret = 6

/** `POST` to `auth.mediated.endpoint`, or to a sign-in below it. */
export async function answerMediated(exchange: Exchange, parts: TokenParts, services: ServiceParts): Promise<Reply> {
  const { ledger, findings } = parts
  const { switches, path } = exchange
  const body = readJson(exchange.body)
  const id = path.split('/')[2]
  noteSecrets(body, parts)
  const token = (exchange.headers.authorization ?? '').split(' ')[1] ?? ''
  if (!ledger.tokens.has(token))
    findings.report('4.7.every-field-agent', 'a sign-in without a current Session Token', exchange)
  await authenticate(exchange, 'DPoP', [], services)
  const held = ledger.tokens.get(token)
  const session = held && ledger.sessions.get(held.sessionId)
  if (!held || !session) throw new PoppyError('invalid_token')
  if (session.account !== null && session.account !== switches.account) throw new PoppyError('account_mismatch')

  const finish = ({ granted }: MediatedRecord): Reply => {
    const given = newGrant(ledger, session, { scopes: granted, account: switches.account })
    const answer = issueTokens(exchange, session, given, held.sessionId, held, parts)
    return answerOf({ status: 'complete', ...answer })
  }
  if (id === undefined) {
    const asked = parseScope(typeof body.scope === 'string' ? body.scope : '') ?? []
    if (asked.length === 0) {
      findings.report('4.4.scope-required-agent', 'no scope in a sign-in request', exchange)
      throw new PoppyError('invalid_scope')
    }
    checkFields(exchange, body, parts)
    const granted = asked.filter((scope) => offeredScopes.some((one) => one === scope))
    const record: MediatedRecord = { sessionId: held.sessionId, granted }
    if (switches.mediated === 'complete') return finish(record)
    return wanting(exchange, record, body, parts)
  }
  const record = ledger.mediated.get(id)
  if (Object.keys(body).some((name) => name !== 'code'))
    findings.report('4.7.only-code-agent', 'more than the code in the second step', exchange)
  if (!record || record.sessionId !== held.sessionId) return answerOf({ status: 'failed' })
  if (switches.mediated !== 'code' && switches.mediated !== 'complete') return wanting(exchange, record, body, parts)
  if (body.code !== oneTimeCode) return wanting(exchange, record, body, parts)
  ledger.mediated.delete(id)
  return finish(record)
}

/** Everything but tokens. */
function wanting(
  { switches, now }: Exchange,
  record: MediatedRecord,
  body: Readonly<Record<string, unknown>>,
  { ledger }: TokenParts,
): Reply {
  if (switches.mediated === 'failed') return answerOf({ status: 'failed' })
  if (switches.mediated === 'expired') return answerOf({ status: 'expired' })
  if (switches.mediated === 'unknown') return answerOf({ status: 'verify_by_fax' })
  const id = random('sgn_')
  ledger.mediated.set(id, record)
  const echo = switches.mediated === 'echo' ? ` ${JSON.stringify(body)}` : ''
  return answerOf({
    status: 'code_required',
    sign_in_id: switches.mediated === 'odd_id' ? '../../elsewhere?' : id,
    code: { sent_to: `Text to the phone number ending in 71${echo}${switches.words === 'escapes' ? hostileText : ''}` },
    expires_at: new Date(now + 900_000).toISOString(),
  })
}

function answerOf(value: object): Reply {
  return reply(200, value, { 'cache-control': 'no-store' })
}

/** Remembers what nobody but this endpoint may ever see. */
function noteSecrets(body: Readonly<Record<string, unknown>>, { ledger }: Pick<TokenParts, 'ledger'>): void {
  const credentials = isJsonObject(body.credentials) ? body.credentials : {}
  for (const value of Object.values(credentials)) {
    if (typeof value === 'string' && value.length >= shortestSecret) ledger.credentials.add(value)
  }
}

function checkFields(
  exchange: Exchange,
  { credentials }: Readonly<Record<string, unknown>>,
  { findings }: Pick<TokenParts, 'findings'>,
): void {
  const given = isJsonObject(credentials) ? credentials : {}
  const missing = credentialFields.some(({ name }) => typeof given[name] !== 'string' || given[name] === '')
  if (!missing) return
  findings.report('4.7.every-field-agent', 'a listed field is missing', exchange)
  throw new PoppyError('invalid_request')
}

function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    // No JSON has no members.
    return {}
  }
}
