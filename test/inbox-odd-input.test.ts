import { describe, expect, it } from 'vitest'
import { canaries, companyAt } from './setup/authority.ts'
import { converse, said, standingOf } from './setup/converse.ts'
import { patiently, rita } from './setup/front-desk.ts'
import { atDesk } from './setup/inbox.ts'
import { stores } from './setup/stores.ts'

// What no form and no script of ours sends to the staff inbox, from somebody who is staff: told as a mistake of theirs, on either
// database, and never a fault of ours.

const odd = [
  'a\0b',
  '\ud800',
  '\u202eevil',
  '</script><b>',
  '__proto__',
  'constructor',
  "'; drop table x; --",
  '%_\\%',
  '../..',
]
const long = 'x'.repeat(20_000)

describe.each(stores)('odd input at the staff inbox, on $name', { timeout: 120_000 }, ({ missing, fresh }) => {
  const test = it.skipIf(missing)
  test('is refused or taken as it is: by forms, by the API, and in addresses', async () => {
    const world = await companyAt((await fresh()).store())
    const { session_id } = await world.start()
    const { access_token } = await world.signIn(world.agent, session_id, { scope: 'poppy:read poppy:write' })
    const desk = atDesk(world, 'rita')
    await desk.page()
    const talk = converse(world.agent, access_token)
    const { conversation_id: id } = await standingOf(await talk.start(said(canaries.said)))
    const staff = world.company.conversations
    await expect.poll(async () => (await staff.read(id)).conversation.status, patiently).toBe('queued')
    await staff.take(id, rita)
    const { token } = (await desk.look()).view
    let count = 0
    const statuses: string[] = []
    const see = async (what: string, answer: Response) => {
      const text = await answer.text()
      const isPage = answer.headers.get('content-type')?.startsWith('text/html') === true
      if (answer.status >= 500 || (isPage && text.includes('<b>'))) statuses.push(`${what}: ${answer.status}`)
      const location = answer.headers.get('location')
      if (location !== null && new URL(location).origin !== world.origin) statuses.push(`${what} → ${location}`)
    }
    for (const value of [...odd, long]) {
      const fields: readonly (readonly [string, Record<string, string>])[] = [
        [`/conversations/${id}/give`, { to: value }],
        [`/conversations/${id}/reply`, { text: value, 'data.0.name': value.slice(0, 50), 'data.0.value': value }],
        [`/conversations/${id}/note`, { text: value }],
        [`/conversations/${id}/ask-for-user`, { reason: value }],
        [`/conversations/${id}/ask-for-sign-in`, { scope: value, text: value }],
        [`/conversations/${id}/call-tool`, { tool: value }],
        [`/conversations/${id}/call-tool`, { tool: 'echo', [`arg.${value.slice(0, 50)}`]: value, 'arg.text': value }],
        [
          `/conversations/${id}/call-tool`,
          { tool: 'echo', json: `{"text":${JSON.stringify(value)},"__proto__":{"a":1}}` },
        ],
        [`/conversations/${id}/call-tool`, { tool: 'echo', json: '['.repeat(20_000) }],
        [`/conversations/${id}/revise`, { operation: value, revision: '1', json: '{}' }],
        [
          `/operations/${encodeURIComponent(value.toWellFormed().slice(0, 300))}/settle`,
          { outcome: 'failed', reason: value, why: value },
        ],
        [`/operations/opn_a/settle`, { outcome: 'succeeded', result: value, why: value }],
        [`/take-next`, { list: value, q: value }],
      ]
      for (const [path, given] of fields) {
        count += 1
        const once = `odd-input-${count}`
        await see(
          `POST ${path} ${JSON.stringify(value.slice(0, 20))}`,
          await desk.post(path, { token, once, ...given }),
        )
      }
      const text = encodeURIComponent(value.toWellFormed().slice(0, 3000))
      for (const query of ['list', 'after', 'q', 'since', 'done', 'before', 'saved', 'draft'])
        await see(`GET ?${query} ${text.slice(0, 20)}`, await desk.get(`/conversations/${id}?${query}=${text}`))
      for (const path of [
        `conversations?after=${text}`,
        `search?text=${text}`,
        `search?text=a&since=${text}`,
        `audit?staff=${text}`,
        `audit?conversation_id=${text}`,
        `audit?operation_id=${text}`,
        `audit?after=${text}`,
        `operations?list=all&name=${text}`,
        `operations?list=all&after=${text}`,
        `operations/${text.slice(0, 300)}`,
        `conversations/${text.slice(0, 300)}/account`,
      ])
        await see(`GET api/${path.slice(0, 60)}`, await desk.get(`/api/${path}`))
      for (const [path, body] of [
        [`conversations/${id}/give`, { to: value }],
        [`conversations/${id}/reply`, { text: value, data: { [value.slice(0, 50)]: value } }],
        [`conversations/${id}/call-tool`, { tool: value, input: { [value]: value } }],
        [`conversations/${id}/revise`, { operation_id: value.slice(0, 200), revision: 1, input: { [value]: value } }],
        ['operations/opn_a/settle', { outcome: 'succeeded', result: value, why: value.slice(0, 900) }],
      ] as const)
        await see(
          `POST api/${path} ${JSON.stringify(value.slice(0, 20))}`,
          await world.send(
            new Request(`${world.origin}/poppy/inbox/api/${path}`, {
              method: 'POST',
              body: JSON.stringify(body),
              headers: { cookie: 'desk=rita', 'content-type': 'application/json' },
            }),
          ),
        )
    }
    expect(statuses).toEqual([])
    // A key is its own act's: that of a note does nothing to a reply, and nothing twice.
    const key = { token, once: 'the-same-key' }
    const notes = (await staff.read(id)).notes.length
    await desk.post(`/conversations/${id}/note`, { ...key, text: 'One.' })
    await desk.post(`/conversations/${id}/reply`, { ...key, text: 'Two.' })
    await desk.post(`/conversations/${id}/note`, { ...key, text: 'Three.' })
    const read = await staff.read(id)
    expect(read.notes.length).toBe(notes + 1)
    expect(JSON.stringify(read.events)).toContain('Two.')
    expect(world.log.join('\n')).not.toMatch(/Forged|canary-|"attack/)
  })
})
