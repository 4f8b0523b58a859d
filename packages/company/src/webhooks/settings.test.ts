import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../configuration-error.ts'
import { checkWebhooks, type WebhooksConfig } from './settings.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const url = 'https://desk.example/hooks/T0P-S3CRET'
const check = (webhooks: unknown, { isDevelopment = false, hasEvents = true } = {}) =>
  checkWebhooks(webhooks, { isDevelopment, hasEvents })

describe('the setting for webhooks', () => {
  it('takes addresses with their secrets, and all events where none are named', () => {
    expect(check(undefined)).toEqual([])
    const [one, two] = check([
      { url, secret },
      {
        url: 'https://other.example',
        secret: [secret, 'x'.repeat(3).concat('-another-secret-of-thirty-two')],
        events: ['conversation.closed'],
      },
    ])
    expect(one?.events.size).toBe(4)
    expect([two?.events.size, two?.keys.length, two?.url]).toEqual([1, 2, 'https://other.example/'])
    expect(check([{ url: 'http://127.0.0.1:4000/in', secret }], { isDevelopment: true })).toHaveLength(1)
  })

  it.each([
    ['no list', { url, secret }],
    ['no object', [url]],
    ['a misspelt member', [{ url, secret, event: [] }]],
    ['no address', [{ url: 'desk', secret }]],
    ['plain http', [{ url: 'http://desk.example/T0P-S3CRET', secret }]],
    ['plain http on this machine, outside of development', [{ url: 'http://localhost/T0P-S3CRET', secret }]],
    ['another scheme', [{ url: 'ftp://desk.example/T0P-S3CRET', secret }]],
    ['a password in it', [{ url: 'https://me:T0P-S3CRET@desk.example', secret }]],
    ['a fragment', [{ url: `${url}#T0P-S3CRET`, secret }]],
    ['no secret', [{ url }]],
    ['an empty list of secrets', [{ url, secret: [] }]],
    ['a weak secret', [{ url, secret: 'T0P-S3CRET' }]],
    ['no events', [{ url, secret, events: [] }]],
    ['unknown events', [{ url, secret, events: ['conversation.opened'] }]],
    [
      'an address twice',
      [
        { url, secret },
        { url, secret, events: ['conversation.closed'] },
      ],
    ],
  ])('refuses %s in a sentence that repeats no secret', (_, webhooks) => {
    expect(() => check(webhooks)).toThrow(ConfigurationError)
    expect(() => check(webhooks)).toThrow(/webhooks/)
    expect(() => check(webhooks)).not.toThrow(/T0P-S3CRET/)
  })

  it('takes a variable of the environment as it comes, and says where there is none', () => {
    const { webhooks }: WebhooksConfig = { webhooks: [{ url, secret: process.env.POPPYSEED_TEST_NO_SUCH_SECRET }] }
    expect(() => check(webhooks)).toThrow(/`webhooks\[0\]\.secret` is missing/)
  })

  it('says what there has to be for webhooks to tell of anything', () => {
    expect(() => check([{ url, secret }], { hasEvents: false })).toThrow('Write conversations: {}')
    expect(check([], { hasEvents: false })).toEqual([])
  })
})
