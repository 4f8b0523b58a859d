import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// Mediated Sign-In (4.7) as the hotel offers it: its own guests and passwords, and codes that lie in its outbox.

const maya = { email: 'maya@example.com', password: 'sea-view-42' }
const scopes = ['poppy:read']

async function openHotel(origin?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-credentials-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const log: string[] = []
  const hotel = await startHotel({ port: 0, directory: seedHotel(directory), origin, log: (line) => log.push(line) })
  onTestFinished(hotel.close)
  const outbox = async () => (await createPerson().open(`${hotel.origin}/outbox`)).html
  const codes = async () => [...(await outbox()).matchAll(/class="code">(\d{6})</g)].map(([, code = '']) => code)
  return { ...hotel, directory, log, outbox, codes }
}

async function openAgent() {
  const visiting = await startVisitingAgent()
  onTestFinished(visiting.close)
  return visiting.agent
}

describe('a guest’s password in the hands of an agent', () => {
  it('wants a code of each agent that is new to the account, and of no other', async () => {
    const hotel = await openHotel()
    const [one, another] = [await openAgent(), await openAgent()]
    const session = (await one.forUser('maya').company(hotel.origin)).session()
    const told: string[] = []
    const signIn = (own = session, credentials = maya) =>
      own.signInMediated({
        scopes,
        credentials,
        code: async ({ sentTo }) => {
          told.push(sentTo)
          return (await hotel.codes())[0] ?? ''
        },
      })
    await expect(signIn(session, { ...maya, password: 'not-hers' })).rejects.toMatchObject({ code: 'sign_in_failed' })
    expect(await hotel.outbox()).toContain('Nothing yet.')

    expect(await signIn()).toMatchObject({ granted: scopes })
    expect(told).toEqual(['Email to m…@example.com'])
    expect(await hotel.outbox()).toContain(`an agent at ${new URL(one.clientId).host} has your email address`)
    const mails = (await hotel.outbox()).replace(/\s+/g, ' ')
    expect(mails).toContain('An agent acts for you')
    expect(mails).toContain(
      `Visiting Agent from ${new URL(one.clientId).host} was let in to your account with your email address and password. It may see your bookings and your notes on them, until `,
    )
    await signIn()
    expect(await hotel.codes()).toHaveLength(1)
    expect(await hotel.outbox()).toContain('An agent was let in again')
    await signIn((await another.forUser('maya').company(hotel.origin)).session())
    expect(await hotel.codes()).toHaveLength(2)

    // In memory alone: neither file nor log has a code, and neither has a password.
    const files = readdirSync(hotel.directory).map((name) => readFileSync(join(hotel.directory, name), 'latin1'))
    for (const secret of [maya.password, ...(await hotel.codes())]) {
      expect([...files, ...hotel.log].filter((text) => text.includes(secret))).toEqual([])
    }
  })

  it('can’t be guessed more often with an agent than at the sign-in page: both count for the same guest', async () => {
    const hotel = await openHotel()
    const session = (await (await openAgent()).forUser('maya').company(hotel.origin)).session()
    const guess = (credentials = { ...maya, password: 'a-guess' }) =>
      session.signInMediated({ scopes, credentials, code: () => undefined }).catch((error: unknown) => error)
    for (let tries = 0; tries < 4; tries++) expect(await guess()).toMatchObject({ code: 'sign_in_failed' })
    const person = createPerson()
    let login = await person.open(`${hotel.origin}/login`)
    for (let tries = 0; tries < 4; tries++) login = await person.submit(login, { ...maya, password: 'a-guess' })
    expect(login.status).toBe(400)
    expect((await person.submit(login, maya)).status).toBe(429)
    // The right one, too late. The agent learns no more than with a wrong one.
    expect(await guess(maya)).toMatchObject({ code: 'sign_in_failed' })
    expect(await hotel.outbox()).toContain('Nothing yet.')
  })

  it('is taken nowhere but on this machine, for nobody else could read the codes', async () => {
    const { origin } = await openHotel()
    const signInOf = async (address: string) => (await fetch(`${address}/.well-known/poppy.json`)).text()
    expect(await signInOf(origin)).toContain('mediated')
    const { port, outboxPage } = await openHotel('https://miramar.example')
    expect(await signInOf(`http://localhost:${port}`)).not.toContain('mediated')
    expect([outboxPage, (await fetch(`http://localhost:${port}/outbox`)).status]).toEqual([null, 404])
  })
})
