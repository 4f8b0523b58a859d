import { PoppyError } from '@poppyseed/protocol'
import { describe, expect, it } from 'vitest'
import { createRegistration, type NewAgent, type RegisterAgent, type RegistrationLimits } from './registration.ts'

const minute = 60_000

function agent(clientId = 'https://agent.example/agent.json'): NewAgent {
  return { clientId, host: new URL(clientId).host, name: 'Example Agent', logoUrl: undefined, extensions: {} }
}

function start(register: RegisterAgent, limits: Partial<RegistrationLimits> = {}) {
  const world = { now: 1_790_900_000_000, log: [] as string[], asked: 0 }
  const write = (fields: object, message: string) => void world.log.push(`${message} ${JSON.stringify(fields)}`)
  const registration = createRegistration({
    register(...asked) {
      world.asked += 1
      return register(...asked)
    },
    now: () => world.now,
    log: { debug: write, info: write, warn: write, error: write },
    limits,
  })
  const outcome = (clientId?: string) =>
    registration.check(agent(clientId)).then(
      () => 'in',
      (error: unknown) => (error instanceof PoppyError ? error.code : 'thrown'),
    )
  return Object.assign(world, { registration, outcome })
}

describe('asking the company about a new agent', () => {
  it('uses a no for a minute and a yes for five', async () => {
    let answer = false
    const world = start(() => answer)
    expect([await world.outcome(), await world.outcome()]).toEqual(['invalid_client', 'invalid_client'])
    answer = true
    world.now += minute - 1
    expect(await world.outcome()).toBe('invalid_client')
    world.now += 1
    expect([await world.outcome(), await world.outcome()]).toEqual(['in', 'in'])
    expect(world.asked).toBe(2)
    world.now += 5 * minute
    answer = false
    expect(await world.outcome()).toBe('invalid_client')
  })

  it('waits no longer than it may, tells the company so, and asks again the next time', async () => {
    const stopped: boolean[] = []
    let hangs = true
    const world = start(
      (_, { signal }) => {
        if (!hangs) return true
        signal.addEventListener('abort', () => stopped.push(true))
        return new Promise<never>(() => {})
      },
      { timeout: 20 },
    )
    const both = await Promise.all([world.outcome(), world.outcome()])
    expect(both).toEqual(['temporarily_unavailable', 'temporarily_unavailable'])
    expect([stopped, world.asked]).toEqual([[true], 1])
    hangs = false
    expect(await world.outcome()).toBe('in')
  })

  it('hears no answer that comes after its time', async () => {
    const late = Promise.withResolvers<boolean>()
    const world = start(() => late.promise, { timeout: 20 })
    expect(await world.outcome()).toBe('temporarily_unavailable')
    late.resolve(true)
    await late.promise
    expect(await world.outcome()).toBe('in')
    expect(world.asked).toBe(2)
    // An error that comes too late is nobody's unhandled rejection.
    const failing = Promise.withResolvers<boolean>()
    const other = start(() => failing.promise, { timeout: 20 })
    expect(await other.outcome()).toBe('temporarily_unavailable')
    failing.reject(new Error('late'))
  })

  it('tells the log what went wrong, without what the error said', async () => {
    const world = start(() => Promise.reject(Object.assign(new Error('x'), { config: { password: 'hunter2' } })))
    await world.outcome()
    expect(world.log.join()).toContain('agents.register failed')
    expect(world.log.join()).not.toContain('hunter2')
  })

  it('is bounded, in all and for each domain: made-up agents can’t make the company’s code run without end', async () => {
    const world = start(() => false, { most: 10, mostOfSite: 3, period: 10 * minute })
    const outcomes = []
    for (let index = 0; index < 5; index++) outcomes.push(await world.outcome(`https://a${index}.many.example/x`))
    expect(outcomes).toEqual([...Array(3).fill('invalid_client'), 'rate_limited', 'rate_limited'])
    expect(await world.outcome('https://other.example/x')).toBe('invalid_client')
    for (let index = 0; index < 20; index++) await world.outcome(`https://site${index}.example/x`)
    expect(world.asked).toBe(10)
    world.now += 9 * minute
    await expect(world.registration.check(agent('https://late.example/x'))).rejects.toMatchObject({ retryAfter: 60 })
    world.now += minute
    expect(await world.outcome('https://a4.many.example/x')).toBe('invalid_client')
  })
})
