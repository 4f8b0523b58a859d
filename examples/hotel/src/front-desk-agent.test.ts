import { describe, expect, it } from 'vitest'
import { openFrontDesk } from './front-desk-agent.ts'
import type { HotelDatabase } from './sql.ts'

const none = {} as HotelDatabase

describe('who answers at the front desk', () => {
  it('is a model where there is a key, which nobody is told', async () => {
    const key = 'canary-of-a-key'
    const desk = await openFrontDesk(none, Date.now, { AI_GATEWAY_API_KEY: key, HOTEL_MODEL: 'somebody/some-model' })
    expect([desk.words, typeof desk.agent]).toEqual(['the model somebody/some-model', 'function'])
    const standard = await openFrontDesk(none, Date.now, { AI_GATEWAY_API_KEY: key })
    expect(standard.words).toMatch(/^the model \w+\/[\w.-]+$/)
    expect(JSON.stringify([desk, standard])).not.toContain('canary')
  })

  it('is by rules where there is none, whatever model is named', async () => {
    for (const environment of [{}, { HOTEL_MODEL: 'somebody/some-model' }, { AI_GATEWAY_API_KEY: '' }])
      expect((await openFrontDesk(none, Date.now, environment)).words).toMatch(/^rules/)
  })
})
