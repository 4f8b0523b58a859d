import { parseStrictJson } from '@poppyseed/protocol'
import type { LockedTool, TurnTool } from '../company-agent/turn.ts'
import type { Staff } from '../conversations/held.ts'
import type { CompanyConversations } from '../conversations/staff.ts'
import { failed, succeeded } from '../operations/outcome.ts'
import {
  type ActFields,
  dataFields,
  optionalSentence,
  optionalText,
  refused,
  sentenceField,
  textField,
} from './act-fields.ts'
import type { Called } from './make-conversation.ts'
import { toolTitle } from './make-tools.ts'
import type { InboxParts } from './parts.ts'
import type { ConversationAct } from './paths.ts'
import { besideForm, readInput } from './tool-form.ts'

/**
 * What staff do, from a form to the function that does it. Holder, state and rights are checked there, on the conversation as it
 * is then; here a form is read, and nothing more.
 */

/** What a form asks for. */
export interface ActAsked {
  /** Of the conversation, or of the operation. */
  readonly id: string
  readonly staff: Staff
  readonly fields: ActFields
  /** The form's own id: sent twice, it does nothing twice. */
  readonly key: string
}

type Conversations = NonNullable<InboxParts['conversations']>
type ActParts = Pick<InboxParts, 'operations' | 'grantableScopes'> & { readonly conversations: Conversations }
type Act = (parts: ActParts, asked: ActAsked) => Promise<Called | null>

const acts: Readonly<Record<ConversationAct, Act>> = {
  take: async ({ conversations }, { id, staff, key }) => {
    await conversations.take(id, staff, { key })
    return null
  },

  release: async ({ conversations }, { id, staff, key }) => {
    await conversations.release(id, staff, { key })
    return null
  },

  give: async ({ conversations }, { id, staff, fields, key }) => {
    const to = fields.one('to')
    const colleague = (await conversations.colleagues()).find((one) => one.id === to && one.id !== staff.id)
    if (colleague === undefined) throw refused('inbox.why.not_here', {}, 'staff_conflict')
    await conversations.give(id, staff, colleague, { key })
    return null
  },

  reply: async ({ conversations }, { id, staff, fields, key }) => {
    const text = optionalText(fields, 'text')
    const drafted = fields.one('draft')
    const own = dataFields(fields)
    const data = drafted === undefined ? own : { ...(await draftData(conversations, id, drafted)), ...own }
    if (text === undefined && data === undefined) throw refused('inbox.refused.empty')
    const message = { ...(text === undefined ? {} : { text }), ...(data === undefined ? {} : { data }) }
    await conversations.reply(id, staff, message, { key })
    return null
  },

  note: async ({ conversations }, { id, staff, fields, key }) => {
    await conversations.note(id, staff, textField(fields, 'text'), { key })
    return null
  },

  'hand-back': async ({ conversations }, { id, staff, fields, key }) => {
    const [note, text] = [optionalText(fields, 'note'), optionalText(fields, 'text')]
    const words = { ...(note === undefined ? {} : { note }), ...(text === undefined ? {} : { text }) }
    await conversations.handBack(id, staff, words, { key })
    return null
  },

  'ask-for-user': async ({ conversations }, { id, staff, fields, key }) => {
    await conversations.askForUser(id, staff, sentenceField(fields, 'reason'), { key })
    return null
  },

  'ask-for-sign-in': async ({ conversations, grantableScopes }, { id, staff, fields, key }) => {
    const scopes = [...new Set(fields.all('scope'))]
    if (!scopes.every((scope) => grantableScopes.includes(scope))) throw refused('inbox.refused.incomplete')
    const text = optionalText(fields, 'text')
    const asked = {
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
      ...(text === undefined ? {} : { text }),
    }
    await conversations.askForSignIn(id, staff, asked, { key })
    return null
  },

  'open-account': async ({ conversations }, { id, staff, key }) => {
    await conversations.openAccount(id, staff, { key })
    return null
  },

  'close-account': async ({ conversations }, { id, staff, key }) => {
    await conversations.closeAccount(id, staff, { key })
    return null
  },

  'call-tool': async ({ conversations }, { id, staff, fields, key }) => {
    const tool = await toolNamed(conversations, { id, staff, name: fields.one('tool') })
    const input = inputOf(tool, fields)
    const outcome = await conversations.callTool(id, staff, tool.name, input, { key })
    return { tool: tool.name, title: toolTitle(tool), outcome }
  },

  revise: async ({ conversations, operations }, { id, staff, fields, key }) => {
    const operation = (await operations?.get(fields.one('operation') ?? '')) ?? null
    if (operation === null) throw refused('inbox.refused.notFound', {}, 'not_found')
    const revision = Number(fields.one('revision'))
    if (!Number.isSafeInteger(revision) || revision < 1) throw refused('inbox.refused.incomplete')
    const tool = await toolNamed(conversations, { id, staff, name: operation.name })
    // A form has the fields that it has: what else was agreed stays.
    const input = { ...besideForm(tool.input, operation.input), ...inputOf(tool, fields) }
    const outcome = await conversations.reviseOperation(
      id,
      staff,
      { operation: operation.id, revision, input },
      { key },
    )
    return { tool: tool.name, title: toolTitle(tool), outcome }
  },

  close: async ({ conversations }, { id, staff, fields, key }) => {
    await conversations.close(id, staff, optionalSentence(fields, 'reason'), { key })
    return null
  },
}

/**
 * Does it. Gives what was called, where that is so.
 * @throws PoppyError as what does it throws; with a word of the inbox's in `extra`, where the form is at fault
 */
export async function actOn(parts: InboxParts, act: ConversationAct, asked: ActAsked): Promise<Called | null> {
  const { conversations } = parts
  if (conversations === null) throw refused('inbox.refused.notFound', {}, 'not_found')
  return acts[act]({ ...parts, conversations }, asked)
}

/** Settles an operation whose outcome nobody knows. @throws PoppyError as {@link actOn} */
export async function settleOn({ operations }: InboxParts, { id, staff, fields, key }: ActAsked): Promise<void> {
  if (operations === null) throw refused('inbox.refused.notFound', {}, 'not_found')
  const why = sentenceField(fields, 'why')
  const outcome = fields.one('outcome')
  if (outcome !== 'succeeded' && outcome !== 'failed') throw refused('inbox.refused.incomplete')
  const found = outcome === 'succeeded' ? succeeded(resultOf(fields)) : failed(sentenceField(fields, 'reason'))
  await operations.settle(id, found, { by: staff, why }, { key })
}

/** The data of a draft of the Company Agent's (`note-3`), to be sent with a reply. */
async function draftData(
  conversations: CompanyConversations,
  id: string,
  drafted: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { notes } = await conversations.read(id)
  const data = notes.find(({ kind, number }) => kind === 'draft' && `note-${number}` === drafted)?.data
  if (typeof data !== 'object' || data === null) throw refused('inbox.refused.incomplete')
  return data as Readonly<Record<string, unknown>>
}

/** JSON where it reads so, else a text; null for nothing. */
function resultOf(fields: ActFields): unknown {
  const text = optionalText(fields, 'result')?.trim()
  if (text === undefined) return null
  try {
    return parseStrictJson(text, 16)
  } catch {
    // A sentence, then: what it is told as.
    return text
  }
}

async function toolNamed(
  conversations: Conversations,
  { id, staff, name }: Pick<ActAsked, 'id' | 'staff'> & { readonly name: string | undefined },
): Promise<TurnTool | LockedTool> {
  const { tools, locked } = await conversations.offered(id, staff)
  const tool = [...tools, ...locked].find((one) => one.name === name)
  if (tool === undefined) throw refused('inbox.refused.notFound', {}, 'not_found')
  return tool
}

function inputOf(tool: TurnTool, fields: ActFields): Readonly<Record<string, unknown>> {
  const read = readInput(tool.input, { json: fields.one('json'), valuesOf: (name) => fields.all(`arg.${name}`) })
  if ('input' in read) return read.input
  throw read.field === null ? refused('inbox.refused.json') : refused('inbox.refused.field', { field: read.field })
}
