import { isJsonObject } from '@poppyseed/protocol'
import { readAudit } from '../audit/reading.ts'
import type { TurnTool } from '../company-agent/turn.ts'
import type { TrailEntry } from '../operations/agreement.ts'
import { inPlainSight } from '../operations/terms.ts'
import type { OperationView } from '../operations/view.ts'
import { auditLine, auditLines } from './make-audit.ts'
import type { InboxParts, Reader } from './parts.ts'
import { readable, readableOrNull } from './readable.ts'
import { enteredInput } from './tool-form.ts'
import type { OperationCard, OperationDetails } from './view.ts'

/** An operation as staff see it: what was proposed, what came of it, never what the company keeps beside it. */

/** Makes a card. */
export function operationCard(
  operation: OperationView,
  { style }: Pick<Reader, 'style'>,
  more: {
    /** The operation as a tool, for whoever may revise it. */
    readonly tool?: Pick<TurnTool, 'input'> | undefined
  } = {},
): OperationCard {
  return {
    ...operationRow(operation),
    terms: operation.terms === null ? null : readable(operation.terms, style),
    result: readableOrNull(operation.result, style),
    input:
      more.tool === undefined || operation.state !== 'proposed' ? null : enteredInput(more.tool.input, operation.input),
  }
}

/** The same for a list: what it is in a sentence and where it stands, and nothing of its terms or of what came of it. */
export function operationRow(operation: OperationView): OperationCard {
  return {
    id: operation.id,
    name: operation.name,
    state: operation.state,
    revision: operation.revision,
    summary: inPlainSight(operation.summary),
    terms: null,
    expiresAt: operation.expiresAt,
    unknownSince: operation.unknownSince,
    result: null,
    conversationId: operation.conversationId,
    host: new URL(operation.clientId).host,
    createdAt: operation.createdAt,
    input: null,
  }
}

/** One that is open: with what happened to it, and who of the company did what. Null where it isn't there. */
export async function openedOperation(parts: InboxParts, reader: Reader, id: string): Promise<OperationDetails | null> {
  const { operations } = parts
  const found = await operations?.get(id)
  if (operations === null || found === null || found === undefined) return null
  const [trail, audit] = await Promise.all([
    operations.trail(id),
    readAudit(await parts.scope(), { operation: id, limit: auditLines }),
  ])
  return {
    ...operationCard(found, reader),
    trail: trail.map((entry) => ({
      at: entry.at,
      what: entry.event,
      by: whoOf(entry),
      why: whyInWords(entry, reader),
    })),
    audit: audit.entries.map((entry) => auditLine(entry, reader.wording)),
  }
}

/** Who of the company it was, by their name; null for anybody else. */
export function whoOf({ who }: Pick<TrailEntry, 'who'>): string | null {
  const name = who.name ?? who.staff
  return name === undefined ? null : inPlainSight(name)
}

/** Why, where somebody said so or it is known: a reason, how whoever settled it knows, what became of `perform`. */
export function whyOf({ detail }: Pick<TrailEntry, 'detail'>): string | null {
  if (!isJsonObject(detail)) return null
  const why = detail.why ?? detail.reason
  return typeof why === 'string' && why !== '' ? inPlainSight(why) : null
}

/** What becomes of `perform`, as the trail has it, by the words for it. */
const unknownWords = {
  unknown: 'inbox.unknownWhy.unknown',
  threw: 'inbox.unknownWhy.threw',
  timeout: 'inbox.unknownWhy.timeout',
  'no outcome in time': 'inbox.unknownWhy.timeout',
  closed: 'inbox.unknownWhy.closed',
} as const

function whyInWords(entry: TrailEntry, { wording }: Pick<Reader, 'wording'>): string | null {
  const why = whyOf(entry)
  if (entry.event !== 'unknown' || why === null || !Object.hasOwn(unknownWords, why)) return why
  return wording.say(unknownWords[why as keyof typeof unknownWords])
}
