import type { CompanyAgent, CompanyConfig, Staff } from 'poppyseed'
import { converse, type Page, pageOf, standingOf, words } from './converse.ts'
import { makeInstances } from './instances.ts'
import type { FreshStore } from './stores.ts'
import type { WireAgent } from './wire-agent.ts'
import type { Tokens } from './world.ts'

/** A Company at two instances with an agent and people: a Personal Agent at one of them, staff at the other. */

export const rita: Staff = { id: 'rita', name: 'Rita Alvarez' }
export const omar: Staff = { id: 'omar', name: 'Omar Haddad' }
export const greta: Staff = { id: 'greta', name: 'Greta' }

/** When people are there: the world's clock begins on a Monday at noon in London. */
export const openingHours = { timeZone: 'Europe/London', mon: '09:00-18:00', fri: '09:00-18:00' } as const

export type FrontDesk = Awaited<ReturnType<typeof makeFrontDesk>>

export async function makeFrontDesk(
  fresh: FreshStore,
  {
    agent,
    conversations = {},
    prepare,
    ...config
  }: Partial<CompanyConfig> & {
    readonly agent?: CompanyAgent | undefined
    /** Called with the Personal Agent before anybody has read its document. */
    readonly prepare?: (client: WireAgent) => void
  } = {},
) {
  const both = { ...config, conversations, ...(agent === undefined ? {} : { agent }) }
  const {
    worlds,
    turnTo,
    clock,
    agent: client,
  } = await makeInstances([
    { store: fresh.store(), config: both },
    { store: fresh.store(), config: both },
  ])
  const [first, second] = worlds as [(typeof worlds)[0], (typeof worlds)[0]]
  prepare?.(client)
  turnTo(0)
  const tokens = await first.start(client)
  const talk = converse(client, tokens.access_token)

  /** All events of a conversation, read at the second instance. */
  async function read(id: string, by = talk): Promise<Page> {
    turnTo(1)
    const page = await pageOf(await by.read(id))
    turnTo(0)
    return page
  }
  return {
    worlds,
    turnTo,
    clock,
    client,
    talk,
    tokens,
    /** The staff's functions, at the second instance. */
    staff: second.company.conversations,
    /** The same, at the first. */
    staffHere: first.company.conversations,
    start: async (message: unknown, parent?: string) =>
      (await standingOf(await talk.start(message, parent === undefined ? {} : { parent }))).conversation_id,
    read,
    words: async (id: string, by = talk) => words((await read(id, by)).events),
    /** Signs the User in, and gives what talks with the new token. */
    async signIn(scope = 'poppy:read poppy:write') {
      const signedIn: Tokens = await first.signIn(client, tokens.session_id, { scope })
      return { signedIn, talk: converse(client, signedIn.access_token) }
    },
    /** A Session of the same User that begins now: the first one's token is over after an hour. */
    later: async () => converse(client, (await first.start(client)).access_token),
    /** Has the first instance do what is due. */
    work: () => first.company.work(),
  }
}

/** Waits until something is so; a machine under load is slow. */
export const patiently = { timeout: 20_000 }
