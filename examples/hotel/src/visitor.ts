import { type HotelScope, hotelScopes } from './scopes.ts'
import { type Guest, guestById, personOfSession } from './sessions.ts'
import type { HotelDatabase } from './sql.ts'

/** The browser of a personal agent, as its Session stands at this moment (5). */
export type AgentVisit = {
  readonly sessionId: string
  /** The host that the agent's identity lives at: the part of it that was checked. */
  readonly host: string
  /** The guest for whom it acts, or null while it isn't signed in. */
  readonly account: string | null
  readonly scopes: readonly string[]
}

/** Says whose browser sent a request: an agent's, one that was an agent's until its access ended, or anybody else's. */
export type FindAgent = (request: Request) => Promise<AgentVisit | 'ended' | null>

/** Who is looking at a page. */
export type Visitor =
  /** Somebody at a browser of their own, signed in or not. */
  | { readonly kind: 'person'; readonly guest: Guest | null; readonly formOwner: string | undefined }
  /** An agent, for a guest once it is signed in. */
  | {
      readonly kind: 'agent'
      readonly guest: Guest | null
      readonly host: string
      readonly may: readonly HotelScope[]
      readonly formOwner: string
    }
  /** A browser that an agent left behind. */
  | { readonly kind: 'ended'; readonly guest: null; readonly formOwner: undefined }

/** What a visitor has to be, where a page belongs to a guest. */
export type Need = HotelScope | 'in person'

/** Somebody has to sign in first; the site sends them there and back to `next`. */
export class NotSignedIn extends Error {
  override readonly name = 'NotSignedIn'
  readonly next: string

  constructor(next: string) {
    super('nobody is signed in')
    this.next = next
  }
}

/** An agent's browser came where it may not go; the page says what it lacks. */
export class NotForThisAgent extends Error {
  override readonly name = 'NotForThisAgent'
  readonly visitor: Exclude<Visitor, { readonly kind: 'person' }>
  readonly need: Need

  constructor(visitor: Exclude<Visitor, { readonly kind: 'person' }>, need: Need) {
    super('an agent lacks a right')
    this.visitor = visitor
    this.need = need
  }
}

/**
 * Who is looking. An agent's cookie wins over the guest's own, whatever else the browser holds from earlier (5); so does
 * one whose access has ended: what the agent left open must not turn into the guest's own browser.
 * @param session the value of the guest's own cookie
 */
export async function findVisitor(
  request: Request,
  session: string | undefined,
  {
    database,
    findAgent,
    now,
  }: { readonly database: HotelDatabase; readonly findAgent: FindAgent; readonly now: number },
): Promise<Visitor> {
  const agent = await findAgent(request)
  if (agent === 'ended') return { kind: 'ended', guest: null, formOwner: undefined }
  if (agent !== null) {
    const guest = agent.account === null ? null : guestById(database, agent.account)
    const may = guest === null ? [] : hotelScopes(agent.scopes)
    // A form that was loaded for one of the two can't be sent as the other.
    return { kind: 'agent', guest, host: agent.host, may, formOwner: `agent ${agent.sessionId}` }
  }
  const guest = personOfSession(database, 'guests', session, now)
  return { kind: 'person', guest, formOwner: guest ? session : undefined }
}

/**
 * The guest whose page this is. A person may see all of their own; an agent what its scopes say, and nothing that a guest
 * does in person.
 * @param next where to go on after signing in
 * @throws NotSignedIn, NotForThisAgent
 */
export function guestFor(visitor: Visitor, need: Need, next: string): Guest {
  if (visitor.kind !== 'person') {
    if (visitor.kind === 'ended' || visitor.guest === null || need === 'in person' || !visitor.may.includes(need))
      throw new NotForThisAgent(visitor, need)
    return visitor.guest
  }
  if (!visitor.guest) throw new NotSignedIn(next)
  return visitor.guest
}

/** Whether a visitor could do what needs this, to draw a page without what they can't. */
export function may(visitor: Visitor, need: Need): boolean {
  if (visitor.guest === null) return false
  return visitor.kind === 'person' || (visitor.kind === 'agent' && need !== 'in person' && visitor.may.includes(need))
}
