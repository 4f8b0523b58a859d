import type { DueTurn } from './parts.ts'

/**
 * Who of those whose turn is due runs next in this process. Room is shared: one User has a small part of it, and one Personal
 * Agent never so much that nothing is left for another one, which finds some at once. What has no room waits, and of those who
 * wait the Personal Agent is next that has the least running.
 */

/** See {@link createTurnRoom}. */
export interface TurnRoom {
  /** Takes room for a turn. False where there is none for its User, its Personal Agent or anybody. */
  readonly enter: (due: DueTurn) => boolean
  /** Takes room whether there is some or not. */
  readonly take: (due: DueTurn) => void
  /** Gives it back. */
  readonly leave: (due: DueTurn) => void
  /** Has a turn wait for room. Where too many wait already it is left out: the store has it, and a look finds it again. */
  readonly wait: (due: DueTurn) => void
  /** Takes room for one that waits; null where none may run now. */
  readonly next: () => DueTurn | null
  /** Users who have no room left, by {@link userKey}: a look for others passes over what is theirs. */
  readonly fullUsers: () => readonly string[]
  /** Nobody waits any more. */
  readonly clear: () => void
}

/** How much room there is. */
export interface TurnRoomSize {
  /** Turns that run at a time. */
  readonly inAll: number
  /** Of those, at most so many of one User. */
  readonly perUser: number
  /** What is kept for Personal Agents that have nothing running: each takes one of it at once. */
  readonly kept: number
  /** One Personal Agent has at most so many times what is left free beside that. */
  readonly share: number
  /** Turns that wait, and how many of them may be one Personal Agent's and one User's. */
  readonly waiting: { readonly inAll: number; readonly perClient: number; readonly perUser: number }
}

/** The sizes of an instance: a Personal Agent has 72 of the 100 when it is alone, and ten others find one at once then. */
export const standardRoom: TurnRoomSize = {
  inAll: 100,
  perUser: 10,
  kept: 10,
  share: 4,
  waiting: { inAll: 1000, perClient: 500, perUser: 50 },
}

type Owner = Pick<DueTurn, 'client_id' | 'user_id'>

/** A User of a Personal Agent, as one text. A `client_id` is an address, and has no blank. */
export const userKey = ({ client_id, user_id }: Owner): string => `${client_id} ${user_id}`

/** Makes the room of a process. */
export function createTurnRoom(size: TurnRoomSize): TurnRoom {
  const ofClient = new Map<string, number>()
  const ofUser = new Map<string, number>()
  /** Those who wait, by their Personal Agent, each in the order in which they came. */
  const lines = new Map<string, Map<string, DueTurn>>()
  const waitingOfUser = new Map<string, number>()
  let running = 0
  let waiting = 0

  const hasRoomForUser = (owner: Owner) => (ofUser.get(userKey(owner)) ?? 0) < size.perUser
  function hasRoomForClient(clientId: string): boolean {
    const free = size.inAll - running
    const its = ofClient.get(clientId) ?? 0
    return its === 0 ? free > 0 : its < size.share * (free - size.kept)
  }

  function take(due: DueTurn): void {
    const line = lines.get(due.client_id)
    if (line !== undefined) remove(line, due)
    running += 1
    count(ofClient, due.client_id, 1)
    count(ofUser, userKey(due), 1)
  }

  function remove(line: Map<string, DueTurn>, due: DueTurn): void {
    if (!line.delete(due.id)) return
    if (line.size === 0) lines.delete(due.client_id)
    count(waitingOfUser, userKey(due), -1)
    waiting -= 1
  }

  return {
    enter(due) {
      if (!hasRoomForClient(due.client_id) || !hasRoomForUser(due)) return false
      take(due)
      return true
    },
    take,
    leave(due) {
      running -= 1
      count(ofClient, due.client_id, -1)
      count(ofUser, userKey(due), -1)
    },
    wait(due) {
      const line = lines.get(due.client_id) ?? new Map<string, DueTurn>()
      const isFull =
        waiting >= size.waiting.inAll ||
        line.size >= size.waiting.perClient ||
        (waitingOfUser.get(userKey(due)) ?? 0) >= size.waiting.perUser
      if (isFull || line.has(due.id)) return
      lines.set(due.client_id, line)
      line.set(due.id, due)
      count(waitingOfUser, userKey(due), 1)
      waiting += 1
    },
    next() {
      const clients = [...lines.keys()].filter(hasRoomForClient)
      clients.sort((one, other) => (ofClient.get(one) ?? 0) - (ofClient.get(other) ?? 0))
      for (const client of clients) {
        const line = lines.get(client) ?? new Map<string, DueTurn>()
        for (const due of line.values()) {
          if (!hasRoomForUser(due)) continue
          take(due)
          return due
        }
      }
      return null
    },
    fullUsers: () => [...ofUser].filter(([, count]) => count >= size.perUser).map(([key]) => key),
    clear() {
      lines.clear()
      waitingOfUser.clear()
      waiting = 0
    },
  }
}

function count(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + change
  if (now > 0) counts.set(key, now)
  else counts.delete(key)
}
