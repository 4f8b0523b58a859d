import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentUser } from '@poppyseed/agent'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startVisitingAgent } from '../examples/hotel/src/agent-server.ts'
import { createPerson } from '../examples/hotel/src/person.ts'
import { startHotel } from '../examples/hotel/src/server.ts'
import { playVisit } from '../examples/hotel/src/visit.ts'
import { build } from './setup/build.ts'
import { startChild } from './setup/child.ts'
import { listen } from './setup/listen.ts'
import { seedHotel } from './setup/seeded-hotel.ts'

// Commands are built first, on a machine that may be busy with other tests.
const timeout = 180_000

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'poppyseed-visit-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function openHotel(directory = seedHotel(freshDirectory()), port = 0) {
  const log: string[] = []
  const hotel = await startHotel({ port, directory, log: (line) => log.push(line) })
  let isOpen = true
  const close = async () => {
    if (isOpen) await hotel.close()
    isOpen = false
  }
  onTestFinished(close)
  return { ...hotel, close, log, directory, port: Number(new URL(hotel.origin).port) }
}

async function openAgent() {
  const visiting = await startVisitingAgent()
  onTestFinished(visiting.close)
  return visiting.agent
}

const steps = [
  /^Discovered Hotel Miramar/,
  /^Started a Session, signed out/,
  /^Asked the front desk about arriving after midnight, and was told: “Rooms are ready from three in the afternoon, and you can come as late as you like/,
  /^Searched rooms for two .* the cheapest is/,
  /told to sign in/,
  /^Sent maya@example\.com to the hotel’s own page.*poppy:read, poppy:write, loyalty/,
  /^Listed the bookings: .+ from \d{4}-\d\d-\d\d/,
  /^Asked the front desk to book it\. It proposes, and holds nothing yet: “Book .* 2 nights: .* in all, paid at the hotel\./,
  /^The guest approved these terms, and the agent confirmed revision 1, only that/,
  /^The hotel booked it, once, as MIR-\d{5}, and says: succeeded/,
  /^Signed out/,
  /refused/,
]

function expectSteps(told: readonly string[]): void {
  expect(told).toHaveLength(steps.length)
  for (const [at, step] of steps.entries()) expect(told[at]).toMatch(step)
}

/** Signs in as Maya, who fills in the pages' own forms. */
async function signIn(user: AgentUser, address: string, scopes: readonly string[]) {
  const session = (await user.company(address)).session()
  await session.signIn({
    scopes,
    open: async (url) => {
      const person = createPerson()
      const login = await person.open(url)
      const consent = await person.submit(login, { email: 'maya@example.com', password: 'sea-view-42' })
      const back = await person.submit(consent, { scope: scopes, decision: 'approve' })
      expect(back.html).toContain('You are signed in')
    },
  })
  return session
}

describe('the visit, over real HTTP and on SQLite', () => {
  it('goes as told, and again, and with nothing said in the log but that it is a development machine [4.starts-signed-out, 4.4.both-tokens, 4.5.session-id-agent, 4.9.revoke-agent, 4.9.signs-out-sessions, 4.9.at-once, 6.sign-in-required, 6.calls-agent]', {
    timeout,
  }, async () => {
    const hotel = await openHotel(freshDirectory())
    const agent = await openAgent()
    for (const round of [1, 2]) {
      const told: string[] = []
      const end = await playVisit({
        address: hotel.origin,
        agent,
        say: (line) => told.push(line),
        approve: async () => true,
      })
      expect(end).toMatchObject({ booking: 'succeeded' })
      expect({ round, steps: told.length }).toEqual({ round, steps: steps.length })
      expectSteps(told)
    }
    expect(hotel.log).toEqual([expect.stringContaining('DEVELOPMENT MODE')])
  })

  it('books nothing where the guest says no, and where nobody can be asked', { timeout }, async () => {
    const hotel = await openHotel()
    const agent = await openAgent()
    const told: string[] = []
    const asked: string[] = []
    const say = (line: string) => told.push(line)
    const no = async ({ summary }: { readonly summary: string }) => {
      asked.push(summary)
      return false
    }
    expect(await playVisit({ address: hotel.origin, agent, say, approve: no })).toEqual({ booking: 'not approved' })
    expect(asked).toEqual([expect.stringMatching(/^Book Limonero for 2 guests/)])
    expect(await playVisit({ address: hotel.origin, agent, say })).toEqual({ booking: 'nobody asked' })
    expect(told.filter((line) => line.includes('nothing was booked'))).toHaveLength(2)
    const session = await signIn(agent.forUser('maya'), hotel.origin, ['poppy:read'])
    const { bookings } = (await session.call('my_bookings')).body as { readonly bookings: readonly unknown[] }
    expect(bookings).toHaveLength(3)
  })

  it('stops with a sentence when the guest’s password is wrong, and nobody is signed in', { timeout }, async () => {
    const hotel = await openHotel()
    const told: string[] = []
    const visit = playVisit({
      address: hotel.origin,
      agent: await openAgent(),
      say: (line) => told.push(line),
      guest: { email: 'maya@example.com', password: 'not-hers' },
    })
    await expect(visit).rejects.toThrow(/^This did not go as told: the page to approve should have come/)
    expect(told).toHaveLength(5)
  })

  it('leaves files that only their owner can read', { timeout }, async () => {
    const hotel = await openHotel()
    await playVisit({ address: hotel.origin, agent: await openAgent(), say: () => {} })
    const files = readdirSync(hotel.directory)
    expect(files).toEqual(expect.arrayContaining(['poppy.db', 'secret']))
    for (const file of files)
      expect({ file, others: statSync(join(hotel.directory, file)).mode & 0o077 }).toEqual({ file, others: 0 })
  })

  it('finds at a second start what was there at the first: the guest’s note, and who is signed in', {
    timeout,
  }, async () => {
    const first = await openHotel()
    const agent = await openAgent()
    const user = agent.forUser('maya')
    const session = await signIn(user, first.origin, ['poppy:read', 'poppy:write'])
    type Bookings = { readonly bookings: readonly { readonly id: string; readonly notes: readonly string[] }[] }
    const [booking] = ((await session.call('my_bookings')).body as Bookings).bookings
    await session.call('add_booking_note', { booking: booking?.id, note: 'We arrive after ten.' })
    const before = await session.state()
    await first.close()

    const second = await openHotel(first.directory, first.port)
    expect(second.origin).toBe(first.origin)
    // The same Session, with the token that it had, right away.
    const after = ((await session.call('my_bookings')).body as Bookings).bookings
    expect(after.find(({ id }) => id === booking?.id)?.notes).toContain('We arrive after ten.')
    expect(await session.state()).toEqual(before)
    await session.signOut()
    await expect(session.call('my_bookings')).rejects.toMatchObject({ code: 'sign_in_required' })
  })
})

describe('npm start', () => {
  it('opens the hotel, tells the visit, says where to go on, and closes when it is asked to', { timeout }, async () => {
    const directory = freshDirectory()
    const child = startChild('npm', ['start'], { PORT: '0', DATABASE_DIR: directory })
    await child.says('Ctrl+C closes the hotel.')
    const { stdout } = child.output
    const [, origin = ''] = /Hotel Miramar is open at (http:\/\/localhost:\d+)\n/.exec(stdout) ?? []
    expectSteps([...stdout.matchAll(/^ +(\d+)\. (.*)$/gm)].map(([, , step = '']) => step))
    expect(stdout).toMatch(/Maya, whom this program plays, approves these terms\. Nobody was asked/)
    expect(stdout).toMatch(/\nBooking MIR-\d{5}: succeeded\.\n/)
    const [, payments = ''] = /Its payment service +(http:\/\/127\.0\.0\.1:\d+)/.exec(stdout) ?? []
    expect((await fetch(payments)).status).toBe(401)
    for (const mode of ['slow', 'error', 'hang'])
      expect(stdout).toMatch(new RegExp(`curl -X PUT -H '@\\S+' -d '\\{"mode":"${mode}".*' ${payments}/behaviour`))
    // What it prints of the shop's key is where it lies.
    const header = readFileSync(join(directory, 'payments', 'header'), 'utf8')
    expect(stdout + child.output.stderr).not.toContain(header.trim().split(' ').at(-1))
    for (const line of [
      `${origin}/.well-known/poppy.json`,
      `${origin}/poppy/mcp`,
      'sea-view-42',
      `${origin}/poppy/inbox`,
      'desk1@miramar.example  front-desk-1',
      'desk2@miramar.example  front-desk-2',
      `npm run visit -- ${origin} --human`,
      'npx poppy init --local',
      `npx poppy sign-in ${origin}`,
      `npx poppy sign-in ${origin} --device`,
      `npx poppy sign-in ${origin} --mediated`,
      `npx poppy open ${origin} ${origin}/bookings`,
      `${origin}/outbox`,
      `${origin}/poppy/agents`,
      `npm run visit -- ${origin}`,
    ])
      expect(stdout).toContain(line)
    expect(child.output.stderr).toContain('DEVELOPMENT MODE')
    expect((await fetch(origin)).status).toBe(200)

    const alone = startChild('npm', ['run', 'visit', '--', origin])
    expect(await alone.ended).toBe(3)
    expect(alone.output.stderr).toContain('Nothing was booked: there is no terminal to ask in. Add --yes')
    const visit = startChild('npm', ['run', 'visit', '--', origin, '--yes'])
    expect({ code: await visit.ended, stderr: visit.output.stderr }).toEqual({ code: 0, stderr: '' })
    expect(visit.output.stdout).toMatch(/\nBooking MIR-\d{5}: succeeded\.\n$/)
    expectSteps([...visit.output.stdout.matchAll(/^ *(\d+)\. (.*)$/gm)].map(([, , step = '']) => step))

    // To npm alone, as `kill` does: nothing stays behind.
    child.signal('SIGTERM', 'leader')
    await child.ended
    await expect(fetch(origin)).rejects.toThrow()
    await expect(fetch(payments)).rejects.toThrow()
    expect(child.output.stderr).not.toMatch(/not close cleanly|Error/)
  })

  it('by itself ends with 0 on SIGTERM and on Ctrl+C', { timeout }, async () => {
    await build()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const child = startChild(process.execPath, ['examples/hotel/dist/main.js'], {
        PORT: '0',
        DATABASE_DIR: seedHotel(freshDirectory()),
      })
      await child.says('Ctrl+C closes the hotel.')
      child.signal(signal)
      expect({ signal, code: await child.ended }).toEqual({ signal, code: 0 })
    }
  })

  it('killed from outside leaves no payment service behind', { timeout }, async () => {
    await build()
    const child = startChild(process.execPath, ['examples/hotel/dist/main.js'], {
      PORT: '0',
      DATABASE_DIR: seedHotel(freshDirectory()),
    })
    await child.says('Ctrl+C closes the hotel.')
    const [, payments = ''] = /Its payment service +(\S+),/.exec(child.output.stdout) ?? []
    expect((await fetch(payments)).status).toBe(401)
    child.signal('SIGKILL', 'leader')
    // Its standard error is the hotel's: it is at its end once both are gone.
    await child.ended
    await expect(fetch(payments)).rejects.toThrow()
  })

  it('says what to do when the port is taken, and touches nothing', { timeout }, async () => {
    const hotel = await openHotel()
    const directory = freshDirectory()
    const child = startChild('npm', ['start'], { PORT: String(hotel.port), DATABASE_DIR: directory })
    expect(await child.ended).toBe(1)
    expect(child.output.stderr).toContain(`Port ${hotel.port} is taken by another program.`)
    expect(child.output.stderr).toContain('PORT=4001 npm start')
    expect(readdirSync(directory)).toEqual([])
  })
})

describe('npm run visit', () => {
  it('fails with a sentence that helps when nothing listens', { timeout }, async () => {
    const hotel = await openHotel()
    await hotel.close()
    const visit = startChild('npm', ['run', 'visit', '--', hotel.origin])
    expect(await visit.ended).toBe(1)
    expect(visit.output.stderr).toMatch(/The visit to http:\/\/localhost:\d+ stopped after step 0\. /)
    expect(visit.output.stderr).toContain('Start it with: npm start')
    expect(visit.output.stderr).not.toMatch(/^\s+at /m)
  })

  it('fails when what listens is no Company', { timeout }, async () => {
    const { origin } = await listen(() => () => new Response('Hello.', { headers: { 'content-type': 'text/html' } }))
    const visit = startChild('npm', ['run', 'visit', '--', origin])
    expect(await visit.ended).toBe(1)
    expect(visit.output.stderr).toContain('stopped after step 0. ')
    expect(visit.output.stderr).not.toMatch(/^\s+at /m)
  })
})
