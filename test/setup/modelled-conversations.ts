import { PoppyError } from '@poppyseed/protocol'
import type { CompanyAgent } from '../../packages/company/src/company-agent/turn.ts'
import { acceptMessage, startConversation } from '../../packages/company/src/conversations/accepting.ts'
import { askForPerson } from '../../packages/company/src/conversations/asking.ts'
import { closeConversation } from '../../packages/company/src/conversations/closing.ts'
import type { Caller } from '../../packages/company/src/conversations/conversation.ts'
import { requireOwner } from '../../packages/company/src/conversations/owning.ts'
import { findOwn } from '../../packages/company/src/conversations/reading.ts'
import type { ConversationRow } from '../../packages/company/src/conversations/row.ts'
import { eventsAfter, findConversation } from '../../packages/company/src/conversations/store.ts'
import type { FaultPoint } from '../../packages/company/src/faults/faults.ts'
import type { Database, Scope } from '../../packages/company/src/store/database.ts'
import { caller } from './conversation-parts.ts'
import { type Act, fold, type Known, objections, objectionsToPair, type Told } from './conversations-model.ts'
import { type Desk, startDesk } from './modelled-desk.ts'
import { Died } from './modelled-instance.ts'
import { grantRow, sessionRow, now as start } from './rows.ts'

/** Conversations of one Company at two instances that die and come back, and a model that watches them. */

/** What the company's agent does when it is asked. */
export const behaviours = [
  'reply',
  'twice',
  'slow',
  'more',
  'handoff',
  'close',
  'ask',
  'fail',
  'tool',
  'sign in',
] as const
type Behaviour = (typeof behaviours)[number]

type At = { readonly instance: 0 | 1 }
/** Counted from the newest. */
type On = At & { readonly on: number }
type Who = { readonly who: 'in' | 'out' }
type By = { readonly staff: 'rita' | 'omar' }

export type Step =
  | (At & Who & { readonly do: 'start'; readonly behaviour: Behaviour })
  | (On & Who & { readonly do: 'message'; readonly behaviour: Behaviour })
  | (On & Who & { readonly do: 'context' | 'handoff' | 'close' | 'beside' })
  | (At & { readonly do: 'retry'; readonly which: number; readonly isChanged: boolean })
  | (On &
      By & {
        readonly do:
          | 'take'
          | 'release'
          | 'reply'
          | 'hand back'
          | 'note'
          | 'ask for user'
          | 'open account'
          | 'staff close'
      })
  | (At & By & { readonly do: 'present' | 'withdraw' | 'take next' })
  | (At & { readonly do: 'sweep' | 'kill' })
  | (At & { readonly do: 'arm'; readonly point: FaultPoint })
  | { readonly do: 'clock'; readonly seconds: number }
  | { readonly do: 'open the gate' | 'sign out' | 'sign in' }
  | { readonly do: 'at once'; readonly steps: readonly Step[] }

/** A message that was sent, so that it can be sent again. */
interface Sent {
  readonly id: string
  readonly text: string
  readonly caller: Caller
  /** Where to: null for a first one. */
  readonly to: string | null
  readonly parentId: string | null
  /** What it was answered with; null while nobody knows. */
  answer: string | null
}

const names = { rita: 'Rita Alvarez', omar: 'Omar Haddad' }
let companies = 0

/** Makes a world and takes the steps in it; then everything comes back, time passes, and it has to end well. */
export async function live(dbs: readonly Database[], steps: readonly Step[]): Promise<void> {
  const world = await createWorld(dbs)
  try {
    for (const [index, step] of steps.entries()) await world.take(step, `step ${index}, ${step.do}`)
    await world.endWell()
  } finally {
    world.end()
  }
}

async function createWorld(dbs: readonly Database[]) {
  companies += 1
  const scope: Scope = { db: dbs[0] as Database, company: `https://of-${companies}.example` }
  const { company } = scope
  await scope.db.query
    .insertInto('poppy_sessions')
    .values({
      ...sessionRow({ account: 'ada', expires_at: start + 900 * 86_400_000, last_used_at: start + 800 * 86_400_000 }),
      company,
    })
    .execute()

  let now = start
  let count = 0
  let grant: string | null = null
  let gate = Promise.withResolvers<void>()
  const ids: string[] = []
  let known = new Map<string, Known>()
  const sent: Sent[] = []
  const replies = new Set<string>()
  const desks: Desk[] = []
  const all: Desk[] = []

  const agent: CompanyAgent = async function* (turn) {
    for (const { id, text = '' } of turn.asked) {
      if (text === 'twice') yield { type: 'message', text: `First ${id}` }
      if (text === 'slow') {
        yield { type: 'message', text: `Wait ${id}` }
        await deskOf(turn.signal).atGate(gate.promise)
      }
      if (text === 'more')
        for (const { id: other } of await turn.more()) yield { type: 'message', text: `Also ${other}` }
      if (text === 'fail') throw new Error('the model is tired')
      if (text === 'tool') yield { type: 'call', name: 'my_account', input: {} }
      if (text === 'ask') yield { type: 'ask-for-user', reason: 'To confirm it.' }
      if (text === 'sign in') yield { type: 'needs-sign-in' }
      if (text === 'handoff') yield { type: 'handoff', reason: 'It is too hard.' }
      if (text === 'close') yield { type: 'close' }
      yield { type: 'message', text: `Re ${id}` }
    }
  }
  const agents = new Map<AbortSignal, Desk>()
  function deskOf(signal: AbortSignal): Desk {
    const desk = agents.get(signal)
    if (desk === undefined) throw new Error('nobody runs this turn')
    return desk
  }

  function instanceOf(index: 0 | 1): Desk {
    const there = desks[index]
    if (there !== undefined && !there.isDead()) return there
    const desk = startDesk({
      db: dbs[index] ?? scope.db,
      company,
      now: () => now,
      agent: (turn) => {
        agents.set(turn.signal, desk)
        return agent(turn)
      },
    })
    desks[index] = desk
    all.push(desk)
    return desk
  }

  const callerOf = (who: 'in' | 'out') =>
    who === 'in' && grant !== null
      ? caller({ company, account: 'ada', scopes: ['poppy:read'], grantId: grant })
      : caller({ company })

  async function answerOf(desk: Desk, work: () => Promise<string>): Promise<string> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof Died || desk.isDead()) return 'died'
      if (error instanceof PoppyError) return String(error.extra?.because ?? error.code)
      throw error
    }
  }

  async function send(desk: Desk, one: Sent, text = one.text): Promise<string> {
    const message = {
      id: one.id,
      sender: 'agent' as const,
      ...(text === '' ? { context: { user_available: false } } : { text }),
    }
    const accepted =
      one.to === null
        ? await startConversation(desk.parts, { message, parentId: one.parentId }, { caller: one.caller })
        : await acceptMessage(desk.parts, await findOwn(desk.parts, one.to, one.caller.principal), {
            message,
            caller: one.caller,
          })
    const { code, status, responder } = accepted.receipt
    return JSON.stringify({ conversationId: accepted.conversationId, code, status, responder })
  }

  function newMessage(text: string, by: Caller, to: string | null, parentId: string | null = null): Sent {
    count += 1
    const one: Sent = { id: `msg_${count}`, text, caller: by, to, parentId, answer: null }
    sent.push(one)
    return one
  }

  async function run(step: Step, acts: Act[]): Promise<void> {
    const note = (act: Omit<Act, 'act'>) => void acts.push({ act: step.do, ...act })
    switch (step.do) {
      case 'at once':
        await Promise.all(step.steps.map((one) => run(one, acts)))
        return
      case 'start':
      case 'beside': {
        const desk = instanceOf(step.instance)
        const parent = step.do === 'beside' ? ids.at(-1 - step.on) : undefined
        if (step.do === 'beside' && parent === undefined) return
        const by = callerOf(step.who)
        const one = newMessage(step.do === 'start' ? step.behaviour : 'reply', by, null, parent ?? null)
        const answer = await answerOf(desk, async () => {
          one.answer = await send(desk, one)
          return 'done'
        })
        const opened =
          one.answer === null ? undefined : (JSON.parse(one.answer) as { conversationId: string }).conversationId
        if (opened !== undefined) ids.push(opened)
        if (parent !== undefined)
          note({
            on: parent,
            answer,
            isSignedIn: by.principal.account !== null,
            ...(opened === undefined ? {} : { opened }),
          })
        else if (answer !== 'died' && answer !== 'done') throw new Error(`a start came to ${answer}`)
        return
      }
      case 'message':
      case 'context':
      case 'handoff':
      case 'close': {
        const id = ids.at(-1 - step.on)
        if (id === undefined) return
        const desk = instanceOf(step.instance)
        const by = callerOf(step.who)
        const answer = await answerOf(desk, async () => {
          if (step.do === 'handoff') await askForPerson(desk.parts, id, by.principal)
          else if (step.do === 'close')
            await closeConversation(desk.parts, id, (row) => {
              requireOwner(row, by.principal)
              return true
            })
          else {
            const one = newMessage(step.do === 'message' ? step.behaviour : '', by, id)
            one.answer = await send(desk, one)
          }
          return 'done'
        })
        note({ on: id, answer, isSignedIn: by.principal.account !== null })
        return
      }
      case 'retry': {
        const one = sent.filter(({ answer }) => answer !== null).at(-1 - step.which)
        if (one === undefined) return
        const desk = instanceOf(step.instance)
        const answer = await answerOf(desk, () => send(desk, one, step.isChanged ? `${one.text}!` : one.text))
        const right = step.isChanged ? 'message_id_conflict' : one.answer
        if (![right, 'died', 'sign_in_required'].includes(answer))
          throw new Error(`a retry came to ${answer}, not ${right}`)
        return
      }
      case 'present':
      case 'withdraw':
      case 'take next': {
        const desk = instanceOf(step.instance)
        const staff = { id: step.staff, name: names[step.staff] }
        await answerOf(desk, async () => {
          if (step.do === 'present') await desk.staff.present(staff)
          else if (step.do === 'withdraw') await desk.staff.withdraw(staff)
          else await desk.staff.takeNext(staff)
          return 'done'
        })
        return
      }
      case 'sweep': {
        const desk = instanceOf(step.instance)
        await answerOf(desk, async () => {
          await desk.sweep()
          return 'done'
        })
        return
      }
      case 'kill':
        instanceOf(step.instance).kill()
        return
      case 'arm':
        instanceOf(step.instance).arm(step.point)
        return
      case 'clock':
        now += step.seconds * 1000
        return
      case 'open the gate':
        gate.resolve()
        gate = Promise.withResolvers()
        return
      case 'sign out':
      case 'sign in':
        await sign(step.do === 'sign in')
        return
      default: {
        const id = ids.at(-1 - step.on)
        if (id === undefined) return
        const desk = instanceOf(step.instance)
        const answer = await answerOf(desk, async () => {
          await asStaff(desk, step.do, id, { id: step.staff, name: names[step.staff] })
          return 'done'
        })
        note({ on: id, answer, staff: step.staff })
      }
    }
  }

  async function asStaff(desk: Desk, what: string, id: string, who: { id: string; name: string }): Promise<void> {
    const { staff } = desk
    count += 1
    const words = `${what} ${count}`
    if (what === 'take') await staff.take(id, who)
    if (what === 'release') await staff.release(id, who)
    if (what === 'note') await staff.note(id, who, `Private ${count}`)
    if (what === 'ask for user') await staff.askForUser(id, who, 'To confirm it.')
    if (what === 'open account') await staff.openAccount(id, who)
    if (what === 'staff close') await staff.close(id, who)
    if (what !== 'reply' && what !== 'hand back') return
    replies.add(words)
    try {
      if (what === 'reply') await staff.reply(id, who, { text: words })
      else
        await staff.handBack(id, who, {
          ...(count % 2 === 0 ? { text: words } : {}),
          ...(count % 3 === 0 ? { note: `Private ${count}` } : {}),
        })
    } catch (error) {
      // What was refused is nowhere; what a process died over may be.
      if (error instanceof PoppyError) replies.delete(words)
      throw error
    }
  }

  async function sign(isIn: boolean): Promise<void> {
    if (grant !== null)
      await scope.db.query.updateTable('poppy_grants').set({ revoked_at: now }).where('company', '=', company).execute()
    grant = isIn ? `g${++count}` : null
    if (grant !== null)
      await scope.db.query
        .insertInto('poppy_grants')
        .values({ ...grantRow({ id: grant, expires_at: null }), token_hash: `${company} ${grant}`, company })
        .execute()
    await scope.db.query.updateTable('poppy_sessions').set({ grant_id: grant }).where('company', '=', company).execute()
  }

  /** All conversations as they are. */
  async function look(): Promise<Map<string, Known>> {
    const listed = await scope.db.query
      .selectFrom('poppy_conversations')
      .select('id')
      .where('company', '=', company)
      .execute()
    const found = new Map<string, Known>()
    for (const { id } of listed) {
      // One whose start died over its answer is there all the same.
      if (!ids.includes(id)) ids.push(id)
      const row = (await findConversation(scope, id)) as ConversationRow
      const stored = await eventsAfter(scope, row, { after: 0, limit: 2000 })
      if (stored.some(({ number }, index) => number !== index + 1)) throw new Error(`${id} has a gap`)
      const events = stored.map(({ body }) => JSON.parse(body) as Told)
      // Without the ids: of thousands of lives there is one in which chance writes such a name into one of them.
      const text = stored
        .map(({ body }) => body)
        .join()
        .replaceAll(/\b(?:cnv|evt|msg|opn)_[\w-]+/g, '')
      for (const secret of [...Object.keys(names), ...Object.values(names), 'Private', 'too hard'])
        if (text.includes(secret)) throw new Error(`${secret} was told outside`)
      const { status, responder, direct } = fold(events)
      found.set(id, {
        id,
        parent: row.parent_id,
        status,
        responder,
        direct: status === 'closed' ? null : direct,
        holder: row.held_by,
        account: row.account,
        events,
        row: { status: row.status, responder: row.responder, direct: row.direct_id },
      })
    }
    return found
  }

  async function take(step: Step, when: string): Promise<void> {
    const acts: Act[] = []
    await run(step, acts)
    await Promise.all(desks.map((desk) => desk.idle()))
    const after = await look()
    const accepted = new Set(sent.map(({ id }) => id))
    const wrong: string[] = []
    for (const [id, one] of after) {
      // What is tried at the parent, or beside it, changes the other too; chance decides then.
      const mine = step.do === 'at once' ? [] : acts.filter(({ on }) => on === id)
      wrong.push(...objections(known.get(id), one, { acts: mine, replies, accepted }).map((what) => `${id}: ${what}`))
      const parent = one.parent === null ? undefined : after.get(one.parent)
      if (parent !== undefined) wrong.push(...objectionsToPair(parent, one))
    }
    for (const { id, answer } of sent) {
      const places = [...after.values()].filter(({ events }) => events.some(({ message }) => message?.id === id)).length
      if (places > 1 || (answer !== null && places !== 1)) wrong.push(`${id} is in ${places} conversations`)
    }
    // Of a turn that failed is told where an agent threw, or a process died over one or left it for too long.
    const mayFail = all.some((desk) => desk.isDead()) || sent.some(({ text }) => ['fail', 'slow'].includes(text))
    for (const [id, { events }] of after)
      if (!mayFail && events.some(({ message }) => message?.text?.startsWith('Something went wrong')))
        wrong.push(`${id}: a turn failed for no reason`)
    known = after
    if (wrong.length > 0) throw new Error(`${when}: ${wrong.join('; ')} ${JSON.stringify(acts)}`)
  }

  /** Everything goes on again, nothing waits any more, and time passes: then everything is closed, by being quiet. */
  async function endWell(): Promise<void> {
    const isOver = () => [...known.values()].every(({ status }) => status === 'closed')
    for (let rounds = 0; rounds < 12 && !(rounds > 0 && isOver()); rounds++) {
      for (const seconds of [31, 31, 31, 130, 610]) {
        now += seconds * 1000
        for (const instance of [0, 1] as const) {
          await take({ do: 'sweep', instance }, 'the end')
          await take({ do: 'open the gate' }, 'the end')
        }
      }
      const hanging = [...known.values()].filter(({ status }) => status === 'working' || status === 'queued')
      if (rounds > 0 && hanging.length > 0)
        throw new Error(`these hang: ${hanging.map(({ id, status }) => `${id} ${status}`).join()}`)
      now += 86_401_000
    }
    if (!isOver()) throw new Error('it does not end')
    for (const id of known.keys()) {
      const row = await findConversation(scope, id)
      if (row?.turn_due_at !== null || row.care_due_at !== null || row.held_by !== null)
        throw new Error(`${id} is left with work`)
    }
  }

  return {
    take,
    endWell,
    end() {
      for (const desk of all) desk.end()
      gate.resolve()
    },
  }
}
