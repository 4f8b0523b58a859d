import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { asked, told, type Wire } from './setup/bookings.ts'
import { type Deposits, startDeposits } from './setup/deposits.ts'
import type { DeathPoint } from './setup/deposits-process.ts'
import { stores } from './setup/stores.ts'

// A process kills itself at each point between a confirmation and its outcome, and is started again. What everybody sees
// then is the table of docs/operations-and-crashes.md, to the letter: the payment service takes what it is asked for,
// however often.

const points = {
  confirming: 'before the confirmation is written',
  confirmed: 'once it is written, before its answer',
  started: 'once _started_ is written, before `perform` is called',
  performing: 'in `perform`, after the payment was taken',
  performed: 'once `perform` has answered, before that is written',
  finished: 'once the outcome is written',
  reconciled: 'once `reconcile` has answered, before that is written',
  told: 'once a hook was told, before that is noted',
} as const satisfies Record<DeathPoint, string>

/** A machine under load is slow, and nothing here is about how fast it is. */
const patiently = { timeout: 30_000 }

/** What a person reads of an operation. */
function inWords({ state, result }: Wire): string {
  if (state === 'failed') return `\`failed\`: “${(result as { readonly reason: string }).reason}”`
  return `\`${state}\``
}

/** What the company's own page says of each state. */
const onPage: Readonly<Record<string, string>> = {
  proposed: 'Nothing is done before.',
  in_progress: 'This is confirmed, and is being done.',
  succeeded: 'This is done.',
  failed: 'This did not happen, and nothing was changed.',
}

/** The person is told the same as the agent. */
async function sameOnPage({ origin, send }: Deposits, { operation_id: id, state }: Wire): Promise<void> {
  const page = await send(new Request(`${origin}/poppy/operations/${id}/page`), 0)
  expect(await page.text()).toContain(onPage[state])
}

/** Gives the row of the table, the operation, and how often the records were told of it. */
async function dieAt(deposits: Deposits, point: DeathPoint) {
  const agent = asked(deposits.agent, deposits.token)
  const { operation_id: id } = await agent.propose('pay_deposit')
  const read = async () => (await told(await agent.read(id))).operation
  if (point === 'reconciled') await deposits.behave({ mode: 'error', times: 1 })
  // What is asked about, or told, comes after the confirmation has been answered.
  const isLater = point === 'reconciled' || point === 'told'
  if (!isLater) await deposits.killAt(0, point)
  // Else it could die, once in a while, at another point than this one: in what is told beside it, between the telling and the note.
  await deposits.keepRecords(0, false)
  const answer = await agent.confirm(id).then(
    async (response) => (await told(response)).is,
    () => 'none',
  )
  if (isLater) {
    if (point === 'reconciled')
      await expect.poll(async () => (await deposits.look(id)).unsettled, patiently).toContain(id)
    else await expect.poll(async () => (await read()).state, patiently).toBe('succeeded')
    // Before the records open: on a slow machine something is told at that very moment.
    await deposits.killAt(0, point)
    if (point === 'told') await deposits.keepRecords(0, true).catch(() => {})
    await deposits.moveClock(60_000).catch(() => {})
  }
  await deposits.ended(0)
  const takenThen = await deposits.taken(id)
  await deposits.start(0)
  // Whatever was confirmed and not begun is begun now; what was begun is left alone until its time is over.
  if (point === 'confirmed') await expect.poll(async () => (await read()).state, patiently).toBe('succeeded')
  const afterwards = await read()
  await sameOnPage(deposits, afterwards)
  await deposits.moveClock(60_000)
  if (point === 'started') {
    // Another instance with a slower clock could be at it still: that nothing happened is believed a while later.
    await expect.poll(async () => (await deposits.look(id)).unsettled, patiently).toContain(id)
    await deposits.moveClock(60_000)
  }
  await expect.poll(async () => (await read()).state, patiently).not.toBe('in_progress')
  await deposits.moveClock(60_000)
  const end = await read()
  await sameOnPage(deposits, end)
  const taken = await deposits.taken(id)
  await agent.confirm(id)
  await expect.poll(async () => (await read()).state, patiently).not.toMatch(/proposed|in_progress/)
  const again = await read()
  await deposits.moveClock(60_000)
  const lines = deposits.records().filter((line) => line.includes(id))
  const { trail } = await deposits.look(id)
  // However often something was told or tried, the trail has it once.
  const events = trail.map(({ event }) => event)
  expect(new Set(events).size).toBe(events.length)
  expect(await deposits.taken(id)).toBeLessThanOrEqual(1)
  const isUnanswered = point === 'confirming' || point === 'confirmed'
  if (isUnanswered) expect(answer).toBe('none')
  else if (isLater) expect(answer).toMatch(/^200 /)
  const { size } = new Set(lines)
  const cells = [
    points[point],
    isUnanswered ? 'none' : isLater ? '200, before' : '200, or lost',
    inWords(afterwards),
    inWords(end),
    `${takenThen}, then ${taken}`,
    `${inWords(again)}, ${await deposits.taken(id)} in all`,
    `${size} events${lines.length > size ? ', told again with the same key' : ''}`,
  ]
  return { row: `| ${cells.join(' | ')} |`, id, told: lines.length }
}

const page = readFileSync(new URL('../docs/operations-and-crashes.md', import.meta.url), 'utf8')
const table = page
  .split('\n')
  .filter((line) => /^\| (?!The process|---)/.test(line))
  // The page's columns are as wide as its formatter has them.
  .map((line) => line.replaceAll(/ +/g, ' '))

// Many processes for each database: the ordinary suite takes PostgreSQL, LONG=1 takes both.
const here = process.env.LONG ? stores : stores.filter(({ name }) => name === 'postgres')

describe.each(here.length > 0 && here[0]?.missing === null ? here : stores)(
  'a process that dies over an operation, on $name,',
  { timeout: 120_000 },
  ({ missing, fresh }) => {
    it.skipIf(missing)(
      'leaves at each point what the documents say, and nothing is done twice or lost [K50, K52, K54, ops.at-most-once, ops.unknown-outcome]',
      async () => {
        const deposits = await startDeposits(await fresh(), { processes: 1 })
        const ends: Awaited<ReturnType<typeof dieAt>>[] = []
        for (const point of Object.keys(points) as DeathPoint[]) ends.push(await dieAt(deposits, point))
        expect(ends.map(({ row }) => row).join('\n')).toBe(table.join('\n'))
        // Nobody who came later told it again.
        for (const { id, told } of ends)
          expect(deposits.records().filter((line) => line.includes(id)).length).toBe(told)
      },
    )
  },
)
