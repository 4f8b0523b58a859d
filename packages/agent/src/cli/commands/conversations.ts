import type { KnownUnsent } from '../../conversations/outbox.ts'
import type { KnownConversation } from '../../conversations/records.ts'
import { AgentError } from '../../errors.ts'
import { accountFlag, accountLabel } from '../account.ts'
import { type CommandContext, openAgent } from '../command.ts'
import { clean, shellWord, table, withoutEmptyColumns } from '../terminal.ts'

/** `poppy conversations`: what is kept here of conversations (7). It asks nobody, and no word that was said is kept. */

/** The options of `poppy conversations`. */
export interface ConversationsOptions {
  readonly at?: string
  readonly account?: string
}

const actions = ['list', 'show'] as const

/** `poppy conversations list|show`. */
export async function conversations(
  context: CommandContext,
  action: string | undefined,
  id: string | undefined,
  options: ConversationsOptions,
): Promise<void> {
  const chosen = actions.find((one) => one === (action ?? 'list'))
  if (!chosen) throw new AgentError('invalid_input', `poppy conversations takes ${actions.join(', ')}.`)
  const { user } = await openAgent(context)
  const all = await user.conversations()
  const known = all.filter((one) => isMeant(one, options))
  if (chosen === 'list') return list(context, known, options)
  if (id === undefined) throw new AgentError('invalid_input', `Say which one: poppy conversations ${chosen} <id>.`)
  const [one, another] = known.filter((each) => each.id === id)
  if (!one) throw new AgentError('invalid_input', 'No conversation of this id is known here.')
  if (another) {
    throw new AgentError('invalid_input', 'Several Companies or accounts have one of this id: add --at and --account.')
  }
  const unsent = (await user.unsent()).filter((each) => each.conversationId === id && each.account === one.account)
  show(context, one, all, unsent)
}

function isMeant({ address, company, account }: KnownConversation, options: ConversationsOptions): boolean {
  const isThere = options.at === undefined || address === options.at || company.domain === options.at
  return isThere && (options.account === undefined || account === options.account)
}

function list(
  { output }: CommandContext,
  known: readonly KnownConversation[],
  { at, account }: ConversationsOptions,
): void {
  output.value(known)
  if (known.length === 0) {
    output.line(at === undefined ? 'No conversation was held yet.' : `No conversation was held at ${clean(at)}.`)
    output.line(`Next: poppy chat ${at === undefined ? '<domain>' : shellWord(at)}${accountFlag(account)}`)
    return
  }
  const rows = known.map((one) => [
    clean(one.id, 60),
    clean(one.company.name, 40),
    accountLabel(one.account),
    stateOf(one),
    timeOf(one.heardAt),
  ])
  for (const row of table(withoutEmptyColumns(rows))) output.line(row)
  output.line()
  output.line('As last heard; what was said is not kept here.')
  output.line('Next: poppy conversations show <id>')
}

function show(
  { output }: CommandContext,
  one: KnownConversation,
  all: readonly KnownConversation[],
  unsent: readonly KnownUnsent[],
): void {
  output.value({ ...one, unsent })
  const direct = all.find((each) => each.parentId === one.id && each.account === one.account && !isOver(each))
  output.line(`${output.bold(clean(one.company.name))}  ${output.dim(clean(one.company.domain))}`)
  const rows = [
    ['Conversation', clean(one.id, 256)],
    ['State', one.isUnknown ? `${stateOf(one)}: it has forgotten it, or it is another account’s` : stateOf(one)],
    ['Account', accountLabel(one.account)],
    ['Direct', one.parentId === undefined ? '' : `your own, begun from ${clean(one.parentId, 256)}`],
    ['Direct', direct === undefined ? '' : `you talk with it yourself in ${clean(direct.id, 256)}`],
    ['Begun', timeOf(one.startedAt)],
    ['Last heard', timeOf(one.heardAt)],
    ...unsent.map(({ text }) => ['Not sent yet', clean(text ?? 'facts without words', 120)]),
  ]
  for (const row of table(rows.filter(([, value]) => value !== ''))) output.line(`  ${row}`)
  output.line()
  const chat = `Next: poppy chat ${shellWord(one.address)}${accountFlag(one.account)}`
  if (isOver(one)) {
    output.line('It is over; this begins a new one.')
    output.line(chat)
    return
  }
  if (unsent.length > 0) output.line('What was not sent yet is sent first when you go on.')
  output.line(`${chat} --continue ${shellWord(one.id)}`)
}

function isOver({ status, isUnknown }: KnownConversation): boolean {
  return status === 'closed' || isUnknown
}

/** Where it stands and who answers, as last heard (7.7). */
function stateOf({ status, responder, isUnknown, parentId }: KnownConversation): string {
  if (isUnknown) return 'unknown to the company'
  if (status === 'closed') return 'closed'
  const who = responder === 'human' ? 'a person answers' : 'an AI answers'
  return `open: ${status === 'queued' ? 'waits for a person' : who}${parentId === undefined ? '' : ', with you'}`
}

/** To the minute, in UTC. */
function timeOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
