import { describe, expect, it } from 'vitest'
import { errorResponseSchema, tokenResponseSchema } from './token.ts'

/** The answer of 4.4. */
const example = {
  access_token: 'eyJhbGciOi-Qp4w',
  token_type: 'DPoP',
  expires_in: 3600,
  refresh_token: 'pat_8Hk2-Wq1',
  refresh_token_expires_in: 2592000,
  scope: 'poppy:read poppy:write',
  session_id: 'ses_2Lm0',
  signed_in: true,
}
const accepts = (changes: Record<string, unknown>) => tokenResponseSchema.safeParse({ ...example, ...changes }).success

describe('a token response', () => {
  it('is read as the specification shows it, with what we do not know left out', () => {
    expect(tokenResponseSchema.parse({ ...example, id_token: 'x', authorization_details: [] })).toEqual(example)
    const {
      refresh_token: _,
      refresh_token_expires_in: __,
      scope: ___,
      ...signedOut
    } = { ...example, signed_in: false }
    expect(tokenResponseSchema.parse(signedOut)).toEqual({ ...signedOut, scope: '' })
  })

  it('is none without what is needed, or in another shape', () => {
    for (const name of ['access_token', 'token_type', 'expires_in', 'session_id', 'signed_in']) {
      for (const wrong of [undefined, null, '', [], {}]) expect(accepts({ [name]: wrong }), name).toBe(false)
    }
    for (const expires_in of [0, -1, '3600', Number.POSITIVE_INFINITY, Number.NaN])
      expect(accepts({ expires_in })).toBe(false)
    expect(accepts({ signed_in: 'true' })).toBe(false)
    expect(accepts({ scope: ['poppy:read'] })).toBe(false)
    expect(accepts({ refresh_token: '' })).toBe(false)
    expect(accepts({ access_token: 'x'.repeat(20_000) })).toBe(false)
    for (const odd of ['a b', 'a\n', 'a\r\nb: c', 'a\0', 'é', '€']) {
      for (const name of ['access_token', 'refresh_token']) expect(accepts({ [name]: odd }), odd).toBe(false)
    }
    expect(accepts({ access_token: '1|a:b,~+/=' })).toBe(true)
  })
})

describe('an error response', () => {
  it('has a code, and may say more', () => {
    const error = { error: 'insufficient_scope', error_description: 'More.', scope: 'a b', extension: 'operations' }
    expect(errorResponseSchema.parse({ ...error, error_uri: 'https://example.com' })).toEqual(error)
    for (const wrong of [{}, { error: '' }, { error: 7 }, { error: null }, [], 'invalid_grant', null]) {
      expect(errorResponseSchema.safeParse(wrong).success).toBe(false)
    }
  })
})
