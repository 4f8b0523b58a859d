import { describe, expect, it } from 'vitest'
import type { DueTurn } from './parts.ts'
import { createTurnRoom, standardRoom, type TurnRoom } from './turn-room.ts'

/** Room for turns is shared: what one takes is never all, and what is free goes to whoever has least. */

const due = (client: string, user: string, number: number): DueTurn => ({
  id: `${client}/${user}/${number}`,
  client_id: client,
  user_id: user,
})

/** Has a client's turns come, of so many Users; gives those that run. */
function flood(room: TurnRoom, client: string, users: number, each: number): readonly DueTurn[] {
  const running: DueTurn[] = []
  for (let number = 0; number < each; number++)
    for (let user = 0; user < users; user++) {
      const one = due(client, `user${user}`, number)
      if (room.enter(one)) running.push(one)
      else room.wait(one)
    }
  return running
}

describe('Room for turns', () => {
  it('is a User’s for a few, and a Personal Agent’s for most but not for all', () => {
    const room = createTurnRoom(standardRoom)
    expect(flood(room, 'one', 1, 100)).toHaveLength(10)
    expect(room.fullUsers()).toEqual(['one user0'])
    expect(flood(room, 'one', 50, 10)).toHaveLength(62)
    expect(room.enter(due('one', 'late', 1))).toBe(false)
    expect(room.enter(due('two', 'user', 1))).toBe(true)
  })

  it('is there at once for the tenth that comes, though nine take what they can get', () => {
    const room = createTurnRoom(standardRoom)
    for (let client = 0; client < 9; client++) expect(flood(room, `client${client}`, 50, 10).length).toBeGreaterThan(0)
    expect(room.enter(due('tenth', 'user', 1))).toBe(true)
  })

  it('that is given back goes to the Personal Agent that has least, and in a line to who came first and may', () => {
    const room = createTurnRoom({ ...standardRoom, inAll: 20, kept: 2, perUser: 2 })
    const greedy = [...flood(room, 'greedy', 20, 4)]
    expect(greedy).toHaveLength(15)
    const others = ['a', 'a', 'a', 'b'].map((user, number) => due('modest', user, number))
    expect(others.map((one) => room.enter(one))).toEqual([true, true, false, true])
    room.wait(others[2] as DueTurn)
    // Room is there, but not for a third of this User’s, and the other has more than its share.
    room.leave(greedy.pop() as DueTurn)
    expect(room.next()).toBeNull()
    room.leave(others[0] as DueTurn)
    expect(room.next()).toEqual(others[2])
    for (let count = 0; count < 6; count++) room.leave(greedy.pop() as DueTurn)
    expect(room.next()?.client_id).toBe('greedy')
  })

  it('to wait in is bounded, and has a place for others', () => {
    const room = createTurnRoom({ ...standardRoom, inAll: 1, kept: 0, waiting: { inAll: 6, perClient: 4, perUser: 2 } })
    const first = due('zero', 'user', 1)
    expect(room.enter(first)).toBe(true)
    for (const user of ['a', 'b', 'c']) for (const number of [1, 1, 2, 3]) room.wait(due('one', user, number))
    for (const number of [1, 2, 3]) room.wait(due('two', 'a', number))
    const served: string[] = []
    let running: DueTurn | null = first
    while (running !== null) {
      room.leave(running)
      running = room.next()
      if (running !== null) served.push(running.id)
    }
    expect(served.toSorted()).toEqual(['one/a/1', 'one/a/2', 'one/b/1', 'one/b/2', 'two/a/1', 'two/a/2'])
    room.wait(due('one', 'a', 9))
    room.clear()
    expect(room.next()).toBeNull()
  })

  it('is free again when all have left, and nobody waits twice', () => {
    const room = createTurnRoom({ ...standardRoom, inAll: 5, kept: 0, perUser: 1 })
    const all = flood(room, 'one', 6, 2)
    const served = new Set(all.map(({ id }) => id))
    const running = [...all]
    for (let one = running.shift(); one !== undefined; one = running.shift()) {
      room.leave(one)
      for (let next = room.next(); next !== null; next = room.next()) {
        expect(served).not.toContain(next.id)
        served.add(next.id)
        running.push(next)
      }
    }
    expect(served.size).toBe(12)
    expect(room.fullUsers()).toEqual([])
  })
})
