import { describe, expect, it } from 'vitest'
import { visitHostileCompany } from './setup/hostile-company.ts'

// The Personal Agent as it is published, in conversation with a Company that misbehaves: nothing is lost, nothing is handled
// twice, and the Company has seen no rule broken.

describe('a conversation', () => {
  it('is started, answered, gone on with and closed', async () => {
    const { session, company } = await visitHostileCompany()
    const here = await session()
    company.conversations.script([{ say: 'Which jacket?' }], [{ say: 'Sure.' }])
    const conversation = await here.conversations.start('The jacket is too small.')
    expect(await conversation.answer()).toMatchObject({ outcome: 'answered', text: 'Which jacket?', status: 'idle' })
    expect(await conversation.reply('The green one.')).toMatchObject({ outcome: 'answered', text: 'Sure.' })
    expect(await conversation.close()).toEqual({ status: 'closed', responder: 'agent' })
    expect((await here.conversations.list()).map(({ id, status }) => [id, status])).toEqual([
      [conversation.id, 'closed'],
    ])
    expect(company.findings).toEqual([])
  })
})
