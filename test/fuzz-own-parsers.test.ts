import { DocumentError } from '@poppyseed/protocol'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { readOperations } from '../packages/agent/src/apis/openapi.ts'
import { AgentError } from '../packages/agent/src/errors.ts'
import { readRetryAfter } from '../packages/agent/src/net/retry-after.ts'
import { readFreshness } from '../packages/company/src/agents/freshness.ts'
import { readKeySet } from '../packages/company/src/agents/key-set.ts'
import { cleanAgentName } from '../packages/company/src/agents/name.ts'
import { readReturnTo } from '../packages/company/src/browser/return-to.ts'
import { deriveKeyring } from '../packages/company/src/crypto/keyring.ts'
import { createSealer } from '../packages/company/src/crypto/seal.ts'
import { createSessionTokens } from '../packages/company/src/sessions/session-token.ts'
import { readUserCode, showUserCode } from '../packages/company/src/sign-in/device/user-code.ts'
import { bentJson, json } from './setup/fuzz.ts'
import { fuzz, orRefused, text } from './setup/fuzzed-parser.ts'
import { id, makeKeys } from './setup/wire-agent.ts'

// What the Company's side and the Personal Agent's read with parsers of their own, and not with the protocol's.

const origin = 'https://miramar.example'
const now = Date.parse('2026-11-30T12:00:00Z')
const keys = await makeKeys()

describe('what either side reads by itself', () => {
  fuzz(
    ['key-set.ts'],
    fc.oneof(
      bentJson({
        keys: [
          { ...keys.publicJwk, kid: 'a' },
          { kty: 'RSA', n: 'x', e: 'AQAB' },
        ],
      }),
      json,
    ),
    (document) => {
      for (const key of orRefused(DocumentError, () => readKeySet(document)) ?? []) expect(key).not.toHaveProperty('d')
    },
  )
  fuzz(['freshness.ts'], fc.tuple(text, text, text), ([cache, expires, age]) => {
    const headers = new Headers()
    for (const [name, value] of [
      ['cache-control', cache],
      ['expires', expires],
      ['age', age],
    ] as const)
      if (/^[\x20-\x7e]*$/.test(value)) headers.set(name, value)
    const fresh = readFreshness(headers, { minFresh: 10, maxFresh: 1000, defaultFresh: 100 })
    expect(fresh).toBeGreaterThanOrEqual(0)
    expect(fresh).toBeLessThanOrEqual(1000)
  })
  fuzz(['name.ts'], text, (input) => {
    const name = cleanAgentName(input, 'agent.example')
    expect(name).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u200b]/u)
    expect([name.length > 0, name.length <= 200]).toEqual([true, true])
  })
  fuzz(['session-token.ts'], text, (input) => {
    const sealed = createSessionTokens(
      createSealer(deriveKeyring(['a-secret-of-more-than-thirty-two-characters'], 'session-token')),
    )
    expect(sealed.open(input, id())).toBe(null)
  })
  fuzz(['user-code.ts'], text, (input) => {
    const code = readUserCode(input)
    if (code !== null) expect(readUserCode(showUserCode(code))).toBe(code)
  })
  fuzz(
    ['return-to.ts'],
    fc.oneof(
      text,
      text.map((one) => `${origin}${one}`),
      text.map((one) => `https://${one}.miramar.example/`),
    ),
    (input) => {
      const read = readReturnTo(input, { origin, domains: ['miramar.example'] })
      if (read !== null)
        expect([new URL(read).protocol, /(?:^|\.)miramar\.example$/.test(new URL(read).hostname)]).toEqual([
          'https:',
          true,
        ])
    },
  )
  fuzz(['retry-after.ts'], fc.oneof(text, fc.constant(null)), (input) => {
    const seconds = readRetryAfter(input, now)
    expect([Number.isInteger(seconds), seconds >= 1]).toEqual([true, true])
  })
  const openapi = {
    openapi: '3.1.0',
    servers: [{ url: '/api' }],
    components: { parameters: { id: { name: 'id', in: 'path', required: true, schema: { type: 'string' } } } },
    paths: {
      '/a/{id}': {
        parameters: [{ $ref: '#/components/parameters/id' }],
        get: { operationId: 'a', security: [{ poppy: ['x'] }] },
      },
    },
  }
  fuzz(['openapi.ts'], fc.oneof(bentJson(openapi), json), (document) => {
    orRefused(AgentError, () => readOperations(document, `${origin}/openapi.json`))
  })
})
