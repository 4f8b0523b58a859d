import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sitDownToChat as sitDown } from './setup/chat.ts'

// `poppy conversations`: what this agent has kept of them, where each stands, and how to go on.

const id = (company: Awaited<ReturnType<typeof sitDown>>['company'], at = 0) =>
  company.conversations.entries[at]?.id ?? ''

describe('poppy conversations', () => {
  it('says that there are none, and how to begin one', async () => {
    const { poppy } = await sitDown()
    const { code, out } = await poppy(['conversations'])
    expect([code, out]).toEqual([0, 'No conversation was held yet.\nNext: poppy chat <domain>\n'])
    expect((await poppy(['conversations', '--json'])).out).toBe('[]\n')
  })

  it('lists open and closed ones, the newest first, with where each stands and who answers', async () => {
    const { poppy, company } = await sitDown()
    await poppy(['chat', company.origin, 'The jacket is too small.'])
    await poppy(['chat', company.origin], ['The room is too loud.', '/handoff', '/leave'])
    await poppy(['chat', company.origin], ['Never mind.', '/close'])
    const [open, queued, closed] = [id(company, 0), id(company, 1), id(company, 2)]
    company.conversations.say(
      open,
      { state: { status: 'idle', responder: 'human' } },
      { say: 'I am Rosa.', sender: 'human' },
    )
    await poppy(['chat', company.origin, '--continue', open, 'Hello?'])
    const requests = company.requests.length
    const { code, out } = await poppy(['conversations'])
    expect(code).toBe(0)
    const when = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC'
    expect(out).toMatch(
      new RegExp(
        [
          `^${open} +Misbehaving Company +open: a person answers +${when}$`,
          `^${closed} +Misbehaving Company +closed +${when}$`,
          `^${queued} +Misbehaving Company +open: waits for a person +${when}$`,
        ].join('\\n'),
        'm',
      ),
    )
    expect(out).toContain('\nAs last heard; what was said is not kept here.\nNext: poppy conversations show <id>\n')
    // Nobody is asked.
    expect(company.requests.length).toBe(requests)
    const [json, ...more] = (await poppy(['conversations', '--json'])).out.trim().split('\n')
    expect(more).toEqual([])
    const listed = JSON.parse(json ?? '') as readonly Record<string, unknown>[]
    expect(listed.map(({ id, status, responder }) => [id, status, responder])).toEqual([
      [open, 'idle', 'human'],
      [closed, 'closed', 'agent'],
      [queued, 'queued', 'agent'],
    ])
    const elsewhere = await poppy(['conversations', '--at', 'elsewhere.example'])
    expect(elsewhere.out).toBe('No conversation was held at elsewhere.example.\nNext: poppy chat elsewhere.example\n')
    for (const at of [company.origin, 'localhost']) expect((await poppy(['conversations', '--at', at])).out).toBe(out)
  })

  it('shows one by its id, and how to go on with it or begin another', async () => {
    const { poppy, company } = await sitDown()
    await poppy(['chat', company.origin, 'The jacket is too small.'])
    const open = await poppy(['conversations', 'show', id(company)])
    expect([open.code, open.err]).toEqual([0, ''])
    expect(open.out).toMatch(/^Misbehaving Company {2}localhost$/m)
    expect(open.out).toMatch(new RegExp(`^ {2}Conversation {2}${id(company)}$`, 'm'))
    expect(open.out).toMatch(/^ {2}State +open: an AI answers$/m)
    expect(open.out).toMatch(/^ {2}Begun +\d{4}-\d\d-\d\d \d\d:\d\d UTC$/m)
    const next = `Next: poppy chat ${company.origin} --continue ${id(company)}\n`
    expect(open.out.endsWith(next)).toBe(true)
    // What it says to type works.
    const [, ...words] = next.trim().split(' ').slice(1)
    expect((await poppy([...words, 'The green one.'])).code).toBe(0)
    await poppy(['chat', company.origin, '--continue', id(company)], ['/close'])
    const closed = await poppy(['conversations', 'show', id(company)])
    expect(closed.out).toMatch(/^ {2}State +closed$/m)
    expect(closed.out).toContain(`It is over; this begins a new one.\nNext: poppy chat ${company.origin}\n`)
    const json = JSON.parse((await poppy(['conversations', 'show', id(company), '--json'])).out) as object
    expect(json).toMatchObject({ id: id(company), status: 'closed', address: company.origin, unsent: [] })
  })

  it('shows the owner’s own conversation with the one that it came of, and both with the account’s name', async () => {
    const { poppy, company } = await sitDown()
    await poppy(
      ['chat', company.origin, '--account', 'work'],
      ['The room is too loud.', '/direct Good morning', '/leave'],
    )
    const [first, direct] = [id(company, 0), id(company, 1)]
    const shown = await poppy(['conversations', 'show', direct])
    expect(shown.out).toMatch(new RegExp(`^ {2}Direct +your own, begun from ${first}$`, 'm'))
    expect(shown.out).toMatch(/^ {2}Account +work$/m)
    expect(shown.out).toContain(`Next: poppy chat ${company.origin} --account work --continue ${direct}\n`)
    expect((await poppy(['conversations', 'show', first])).out).toMatch(
      new RegExp(`^ {2}Direct +you talk with it yourself in ${direct}$`, 'm'),
    )
    expect((await poppy(['conversations'])).out).toMatch(/ work +open: an AI answers, with you +/)
  })

  it('shows what was not sent yet, cut, and says when it will be', async () => {
    const { poppy, company } = await sitDown()
    await poppy(['chat', company.origin, 'The jacket is too small.'])
    company.next(20, { gateway: 'html_502' }, 'conversations')
    await poppy([
      'chat',
      company.origin,
      '--continue',
      id(company),
      `The green \u001b[2Jone ${'and so on '.repeat(30)}`,
    ])
    const { out } = await poppy(['conversations', 'show', id(company)])
    expect(out).toMatch(/^ {2}Not sent yet {2}The green \[2Jone and so on .{20,120}…$/m)
    expect(out).toContain('What was not sent yet is sent first when you go on.')
    expect(out).not.toContain('\u001b')
    const json = JSON.parse((await poppy(['conversations', 'show', id(company), '--json'])).out) as {
      unsent: readonly { text: string }[]
    }
    expect(json.unsent.map(({ text }) => text)).toEqual([expect.stringContaining('and so on')])
  })

  it('tells one that the Company doesn’t know any more', async () => {
    const { poppy, company } = await sitDown()
    await poppy(['chat', company.origin, 'The jacket is too small.'])
    const lost = id(company)
    ;(company.conversations.entries as unknown[]).splice(0)
    expect((await poppy(['chat', company.origin, '--continue', lost, 'Hello?'])).code).toBe(1)
    expect((await poppy(['conversations'])).out).toMatch(/ unknown to the company +/)
    const { out } = await poppy(['conversations', 'show', lost])
    expect(out).toMatch(/^ {2}State +unknown to the company: it has forgotten it, or it is another account’s$/m)
    expect(out).toContain(`It is over; this begins a new one.\nNext: poppy chat ${company.origin}\n`)
  })

  it('says what helps where the id is missing or not known, and which where two have the same', async () => {
    const { poppy, company } = await sitDown()
    await poppy(['chat', company.origin, 'Hello.'])
    for (const [args, words] of [
      [['show'], 'Say which one: poppy conversations show <id>.'],
      [['nonsense'], 'poppy conversations takes list, show.'],
      [['show', 'cnv_of_nobody'], 'No conversation of this id is known here.'],
      [['show', '\u001b[2J'], 'No conversation of this id is known here.'],
    ] as const) {
      const { code, err, out } = await poppy(['conversations', ...args])
      expect([code, out, err]).toEqual([2, '', expect.stringContaining(words)])
      expect(err).not.toContain('\u001b')
    }
  })

  it('shows nothing that is secret, to a person or a program [4.8.never-shown-agent]', async () => {
    const { poppy, company, home } = await sitDown()
    company.conversations.script([{ needs: ['poppy:read'] }, { say: 'Your room is 12.' }])
    await poppy(['chat', company.origin, 'Which room is mine?'])
    const kept = readdirSync(home).map((name) => readFileSync(join(home, name), 'utf8'))
    const secrets = kept.flatMap((text) =>
      [...text.matchAll(/"(?:token|d|verifier)": ?"([^"]{16,})"/g)].map(([, one]) => one),
    )
    expect(secrets.length).toBeGreaterThan(1)
    for (const args of [[], ['show', id(company)], ['--json'], ['show', id(company), '--json']]) {
      const { out, err } = await poppy(['conversations', ...args])
      expect(secrets.filter((secret) => secret && (out + err).includes(secret))).toEqual([])
    }
  })
})
