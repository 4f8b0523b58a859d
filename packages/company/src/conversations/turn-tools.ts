import { coversScopes, formatScope, operationSchema, PoppyError } from '@poppyseed/protocol'
import type { LockedTool, ToolOutcome, TurnTool } from '../company-agent/turn.ts'
import type { Principal } from '../sessions/principal.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'
import { withConversation } from './ledger.ts'
import { useAccount } from './owning.ts'
import type { ConversationParts } from './parts.ts'
import { standingNow } from './rights-now.ts'
import type { ConversationRow } from './row.ts'
import { type Telling, tellTogether } from './telling.ts'

/**
 * Tools and operations in a conversation: the same registry, with the rights that the conversation has when one is called
 * (reading 22). Who calls, a model or a person, has no say in that.
 */

/** What tools are called with, beside what all of a conversation is done with. */
export interface ToolParts extends ConversationParts {
  readonly registry: Pick<ToolRegistry, 'tools' | 'find' | 'call'>
  /**
   * Whether a Personal Agent lists an extension (3.3).
   * @throws PoppyError `temporarily_unavailable`
   */
  readonly supports: (principal: Principal, extension: string) => Promise<boolean>
}

/** A call. */
export interface Call {
  readonly name: string
  readonly input: unknown
  /** See {@link ToolConversation.callId}. */
  readonly callId: string
  readonly signal: AbortSignal
  /** The member of staff who calls it; left out for the Company Agent. */
  readonly staff?: string
  /** Called with whom it is called for, once rights and input are found right and before anything runs. */
  readonly before?: (principal: Principal) => Promise<void>
  /** How what it proposes is told in the conversation, with the proposal or not at all. */
  readonly telling: Telling
}

/** Characters of JSON that a result may have: it is kept with the turn, and a model reads it. */
const longestResult = 1_048_576

/** What a tool refuses before anything of it has run: nothing of the account is in that. */
const refusedBefore: ReadonlySet<string> = new Set([
  'tool_not_found',
  'extension_required',
  'sign_in_required',
  'insufficient_scope',
  'invalid_request',
])

/**
 * Calls a tool in a conversation, with the rights that it has now. Where that used the User's account, the conversation is the
 * account's (reading 21) before anybody sees what it answered.
 * @param row as it was read a moment ago
 */
export async function callTool(parts: ToolParts, row: ConversationRow, call: Call): Promise<ToolOutcome> {
  const tool = parts.registry.find(call.name)
  return underRights(
    parts,
    row,
    (principal) => run(parts, row, call, principal),
    (outcome) => tool !== undefined && usesAccount(tool, outcome),
  )
}

/**
 * Does something with the rights that a conversation has now, or tells why not.
 * @param row as it was read a moment ago
 * @param uses whether what came of it used the account, where there is one
 */
export async function underRights(
  parts: ConversationParts,
  row: ConversationRow,
  work: (principal: Principal) => Promise<ToolOutcome>,
  uses: (outcome: ToolOutcome) => boolean,
): Promise<ToolOutcome> {
  const { principal, session } = await standingNow(parts, row)
  // 4.1: nothing is done any more for an agent that the company keeps out
  if (session === 'blocked')
    return { ok: false, error: 'invalid_token', description: 'The Session may not be used any more.' }
  const { account } = principal
  if (account !== null && row.account !== null && row.account !== account) return otherAccount
  const outcome = await work(principal)
  if (account === null || !uses(outcome)) return outcome
  try {
    await withConversation(
      parts,
      row.id,
      (current) => {
        const set = useAccount(current, principal)
        return Object.keys(set).length === 0 ? null : { set, events: [] }
      },
      row,
    )
  } catch (error) {
    // It became another account's meanwhile: what this one's tool said is not for it.
    if (error instanceof PoppyError && error.code === 'sign_in_required') return otherAccount
    throw error
  }
  return outcome
}

const otherAccount: ToolOutcome = {
  ok: false,
  error: 'sign_in_required',
  description: 'The conversation belongs to another account.',
}

function usesAccount(tool: Tool, outcome: ToolOutcome): boolean {
  if (!outcome.ok && refusedBefore.has(outcome.error)) return false
  return tool.scopes.length > 0 || tool.proposes
}

async function run(parts: ToolParts, row: ConversationRow, call: Call, principal: Principal): Promise<ToolOutcome> {
  const { name, input, before, telling } = call
  const together = tellTogether(parts, row.id, { ...telling, principal })
  try {
    const json = await together.settled(
      parts.registry.call(name, input, contextOf(row, call, principal), {
        ...(before === undefined ? {} : { before: () => before(principal) }),
        also: together.also,
      }),
    )
    if (json.length > longestResult)
      return { ok: false, error: 'tool_failed', description: 'The result is too large for a conversation.' }
    const value: unknown = JSON.parse(json)
    if (parts.registry.find(name)?.proposes !== true) return { ok: true, value }
    const { operation } = value as { readonly operation: unknown }
    return { ok: true, operation: operationSchema.parse(operation), value }
  } catch (error) {
    return refusedOutcome(error)
  }
}

/** What a call in a conversation is told beside its input. */
export function contextOf(
  row: Pick<ConversationRow, 'id'>,
  { callId, signal, staff }: Pick<Call, 'callId' | 'signal' | 'staff'>,
  principal: Principal,
): ToolContext {
  const conversation = Object.freeze({ id: row.id, callId, ...(staff === undefined ? {} : { staff }) })
  return { principal, signal, via: 'conversation', conversation }
}

/** A refusal as it is told; anything else is thrown on. */
export function refusedOutcome(error: unknown): ToolOutcome {
  if (!(error instanceof PoppyError)) throw error
  const { code, description, scope, extra } = error
  return {
    ok: false,
    error: code,
    description: description ?? code,
    ...(scope === undefined ? {} : { scope }),
    ...(extra?.issues === undefined ? {} : { issues: extra.issues }),
  }
}

/** Which tools there are for a Principal: those that may be called, and those that may not, with what they need. */
export interface OfferedTools {
  readonly tools: readonly TurnTool[]
  readonly locked: readonly LockedTool[]
}

/** What a conversation offers at this moment; to an agent that is blocked, nothing. */
export async function offeredTools(parts: ToolParts, principal: Principal): Promise<OfferedTools> {
  const needed = new Set(parts.registry.tools.flatMap(({ extensions }) => extensions))
  const lacking = new Set<string>()
  for (const extension of needed) {
    // What can't be looked up now is told when it is called.
    const has = await parts.supports(principal, extension).catch((error: unknown) => {
      if (error instanceof PoppyError) return true
      throw error
    })
    if (!has) lacking.add(extension)
  }
  const tools: TurnTool[] = []
  const locked: LockedTool[] = []
  for (const tool of parts.registry.tools) {
    const { name, title, description, scopes, proposes } = tool
    const known: TurnTool = { name, title, description, input: tool.input.json, proposes }
    const scope = formatScope(scopes)
    if (tool.extensions.some((extension) => lacking.has(extension)))
      locked.push({ ...known, needs: 'extension', scope: '' })
    else if (scopes.length > 0 && principal.account === null) locked.push({ ...known, needs: 'sign_in', scope })
    else if (!coversScopes(principal.scopes, scopes)) locked.push({ ...known, needs: 'scope', scope })
    else tools.push(known)
  }
  return { tools, locked }
}

/** What {@link offeredTools} gives for a conversation at this moment: where nothing may be called, all is locked. */
export async function offeredNow(parts: ToolParts, row: ConversationRow): Promise<OfferedTools> {
  const { principal, session } = await standingNow(parts, row)
  if (session === 'blocked') return { tools: [], locked: [] }
  const isAnother = principal.account !== null && row.account !== null && row.account !== principal.account
  return offeredTools(parts, isAnother ? { ...principal, account: null, scopes: [] } : principal)
}
