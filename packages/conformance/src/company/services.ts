import { PoppyError } from '@poppyseed/protocol'
import { type Reply, reply } from '../delivery.ts'
import { type Findings, hadHeard } from './conduct.ts'
import type { Exchange } from './exchange.ts'
import type { Ledger, TokenRecord } from './ledger.ts'
import type { OperationDesk } from './operations.ts'
import type { Proofs } from './proofs.ts'

/** What tokens open (4.3, 6): an OpenAPI service with DPoP, an MCP server with Bearer. */

/** What the services work with. */
export interface ServiceParts {
  readonly ledger: Ledger
  readonly findings: Findings
  readonly proofs: Proofs
  readonly mcpUrl: string
  readonly openapiResource: string
  /** Where operations are confirmed, and its `resource` where it has one. */
  readonly operationsUrl: string
  /** Where conversations are, and their `resource` where they have one. */
  readonly conversationsUrl: string
  readonly desk: () => OperationDesk
  /** What ran, in its order: side effects, so to say. */
  readonly ran: string[]
}

/** Who calls, with what rights now. */
export interface Caller {
  readonly clientId: string
  readonly userId: string
  readonly account: string | null
  readonly scopes: readonly string[]
}

/**
 * 4.3, 6: checks token, proof and scopes.
 * @throws PoppyError
 */
export async function authenticate(
  exchange: Exchange,
  scheme: 'DPoP' | 'Bearer',
  scopes: readonly string[],
  parts: ServiceParts,
): Promise<Caller> {
  const { ledger, proofs } = parts
  const [given = '', token = ''] = (exchange.headers.authorization ?? '').split(' ')
  const record = ledger.tokens.get(token)
  judge(exchange, scheme, given, record, parts)
  if (exchange.switches.refuse !== null) throw new PoppyError(exchange.switches.refuse)
  const session = record && ledger.sessions.get(record.sessionId)
  const isScheme = given.toLowerCase() === scheme.toLowerCase()
  const isKind = record && (record.thumbprint === null) === (scheme === 'Bearer')
  const wanted = resourceOf(exchange, scheme, parts)
  if (!record || !session || !isScheme || !isKind || session.ended || exchange.now >= record.expiresAt)
    throw new PoppyError('invalid_token')
  if (wanted !== null && record.resource !== wanted) throw new PoppyError('invalid_token')
  if (scheme === 'DPoP') await proofs.check(exchange, { token, record })
  const grant = record.grant === null ? undefined : ledger.grants.get(record.grant)
  const signedIn = record.signedIn && grant !== undefined && grant.state !== 'revoked'
  const scope = scopes.join(' ')
  if (scopes.length > 0 && !signedIn) throw new PoppyError('sign_in_required', { scope })
  if (!scopes.every((one) => record.scopes.includes(one))) throw new PoppyError('insufficient_scope', { scope })
  const { clientId, userId } = session
  return { clientId, userId, account: signedIn ? session.account : null, scopes: record.scopes }
}

/** Which `resource` a token has to be for; null where any does. */
function resourceOf({ route, switches }: Exchange, scheme: 'DPoP' | 'Bearer', parts: ServiceParts): string | null {
  if (scheme === 'Bearer') return parts.mcpUrl
  if (route === 'conversations' || route === 'events')
    return switches.conversations === 'with_resource' ? parts.conversationsUrl : null
  if (route === 'operations') return switches.operations === 'with_resource' ? parts.operationsUrl : null
  return switches.resource ? parts.openapiResource : null
}

function judge(
  exchange: Exchange,
  scheme: 'DPoP' | 'Bearer',
  given: string,
  record: TokenRecord | undefined,
  { ledger, findings: { report } }: ServiceParts,
): void {
  // An MCP client that knows nothing of Poppy asks without a token first, and that is right.
  if (given === '' && scheme === 'DPoP') report('4.3.always-send-agent', 'no Session Token', exchange)
  if (!record) return
  if (record.thumbprint !== null && given.toLowerCase() !== 'dpop')
    report('4.3.dpop-scheme-agent', `a token with a key came as ${given || 'nothing'}`, exchange)
  if (!record.usable) report('K13', 'a token was used whose token_type was not the one asked for', exchange)
  const isNewer = (other: TokenRecord) =>
    other.sessionId === record.sessionId &&
    other.resource === record.resource &&
    (other.thumbprint === null) === (record.thumbprint === null) &&
    other.issuedBy.number > record.issuedBy.number &&
    other.usable &&
    hadHeard(other.issuedBy, exchange)
  if ([...ledger.tokens.values()].some(isNewer))
    report('4.3.newest-token-agent', 'an older Session Token was used after a new one was given', exchange)
}

/** Scopes of each tool, over either way. */
const toolScopes: Readonly<Record<string, readonly string[]>> = {
  echo: [],
  get_order: ['poppy:read'],
  set_address: ['addresses'],
  save_note: ['poppy:read', 'poppy:write'],
  book_table: ['poppy:write'],
}

/** The OpenAPI service. */
export async function answerTool(exchange: Exchange, parts: ServiceParts): Promise<Reply> {
  const [, , name = '', rest] = exchange.path.split('/')
  const operation = {
    echo: 'echo',
    orders: 'get_order',
    address: 'set_address',
    notes: 'save_note',
    tables: 'book_table',
  }[name]
  if (operation === undefined) throw new PoppyError('not_found')
  const caller = await authenticate(exchange, 'DPoP', toolScopes[operation] ?? [], parts)
  parts.ran.push(operation)
  if (operation === 'book_table') {
    const desk = parts.desk()
    return reply(202, desk.written(desk.propose(caller), exchange))
  }
  return reply(200, { ran: operation, order: rest ?? null, said: parse(exchange.body), ...caller })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly name?: string; readonly protocolVersion?: string }
}

/** The MCP server: just enough JSON-RPC for the official client, in its 2025 revision. */
export async function answerMcp(exchange: Exchange, parts: ServiceParts): Promise<Reply> {
  await authenticate(exchange, 'Bearer', [], parts)
  if (exchange.method !== 'POST') return reply(405, {}, { allow: 'POST' })
  const message = (parse(exchange.body) ?? {}) as Message
  if (message.id === undefined) return { status: 202, headers: {}, body: '' }
  const { id } = message
  const result = (value: unknown) => reply(200, { jsonrpc: '2.0', id, result: value })
  switch (message.method) {
    case 'initialize':
      return result({
        protocolVersion: message.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'misbehaving', version: '1' },
      })
    case 'tools/list':
      return result({ tools: Object.keys(toolScopes).map((name) => ({ name, inputSchema: { type: 'object' } })) })
    case 'tools/call': {
      const name = message.params?.name ?? ''
      let caller: Caller
      try {
        caller = await authenticate(exchange, 'Bearer', toolScopes[name] ?? [], parts)
      } catch (error) {
        if (!exchange.switches.toolErrors || !(error instanceof PoppyError)) throw error
        return result({
          isError: true,
          content: [{ type: 'text', text: error.message }],
          structuredContent: error.body(),
        })
      }
      parts.ran.push(name)
      if (name === 'book_table') {
        const desk = parts.desk()
        const entry = desk.propose(caller)
        return result({
          content: [{ type: 'text', text: entry.summary }],
          structuredContent: desk.written(entry, exchange),
        })
      }
      return result({ content: [{ type: 'text', text: `${name} ran` }] })
    }
    default:
      return reply(200, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } })
  }
}
