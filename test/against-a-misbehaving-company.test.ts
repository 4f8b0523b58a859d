import { createPersonalAgent, generateKey, memoryStore } from '@poppyseed/agent'
import { type ChallengeForm, createMisbehavingCompany, wellBehaved } from '@poppyseed/conformance'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  agentErrorOf,
  conversationSwitches,
  endOf,
  type Faults,
  flipped,
  type HostileVisit,
  oneConnection,
  operationSwitches,
  signedIn,
  signInSwitches,
  started,
  using,
  visitHostileCompany,
  waysInSwitches,
} from './setup/hostile-company.ts'
import { namedFetch } from './setup/names.ts'
import { testTls } from './setup/tls.ts'

// The Personal Agent as it is published, at a Company that misbehaves in one way after another: the outcome is right, and
// the Company has seen no rule broken.

afterEach(() => vi.restoreAllMocks())

/** Limits of seconds are reached in milliseconds. */
function hurry(): void {
  const real = AbortSignal.timeout.bind(AbortSignal)
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => real(milliseconds / 20))
}

describe('a Company that does everything right', () => {
  it('has nothing to say about the Personal Agent, whatever it does', async () => {
    const { company, session, signIn, clock } = await visitHostileCompany(using({ nonce: 'required' }), {
      fetch: oneConnection(),
    })
    const here = await session()
    await here.call('echo', { text: 'hello' })
    const result = await signIn(here, ['poppy:read', 'poppy:write'])
    expect(result.granted).toEqual(['poppy:read', 'poppy:write'])
    await here.call('get_order', { id: '7' })
    const mcp = await here.mcp()
    await mcp.call('get_order')
    await mcp.close()
    clock.now += 3600_000
    await here.call('save_note', { text: 'late' })
    await signIn(here, ['addresses'])
    await here.call('set_address', { text: 'Here' })
    await here.signOut()
    await here.call('echo', { text: 'bye' })
    expect(company.ran).toEqual(['echo', 'get_order', 'get_order', 'save_note', 'set_address', 'echo'])
    expect(company.findings).toEqual([])
    expect(company.state().signIns).toEqual([])
  })
})

describe('documents', () => {
  const stories: readonly (readonly [string, Faults, string])[] = [
    ['an issuer with a slash more', { issuer: 'slash' }, 'untrusted_company'],
    ['another issuer', { issuer: 'other' }, 'untrusted_company'],
    ['no issuer in the metadata', { issuer: 'missing' }, 'bad_document'],
    ['no poppy_domains', { poppyDomains: 'missing' }, 'bad_document'],
    ['empty poppy_domains', { poppyDomains: 'empty' }, 'untrusted_company'],
    ['poppy_domains of somebody else', { poppyDomains: 'other' }, 'untrusted_company'],
    ['a document for another domain', { domain: 'other' }, 'untrusted_company'],
    ['a document for a subdomain', { domain: 'subdomain' }, 'untrusted_company'],
    ['a version of another family', { protocolVersion: '1.0' }, 'unsupported_version'],
    ['a version that is none', { protocolVersion: 'latest' }, 'bad_document'],
    ['the version after this one', { protocolVersion: '0.2' }, 'fine'],
    ['extensions, APIs and members that nobody knows', { unknown: true }, 'fine'],
    ['a redirect to where it is hosted', { redirect: 'hosted' }, 'fine'],
    ['a redirect to itself', { redirect: 'loop' }, 'bad_document'],
    ['a redirect to a redirect, ten times', { redirect: 'chain' }, 'bad_document'],
    ['a redirect to an address inside', { redirect: 'private' }, 'untrusted_company'],
    ['ten megabytes more', { delivery: 'huge' }, 'bad_answer'],
    ['a body without end', { delivery: 'endless' }, 'bad_answer'],
    ['thirty-two megabytes in a small parcel', { delivery: 'zip_bomb' }, 'bad_answer'],
    ['half a body', { delivery: 'cut' }, 'unreachable'],
    ['no answer but a closed connection', { delivery: 'lost' }, 'unreachable'],
    ['half of a JSON text', { delivery: 'not_json' }, 'bad_document'],
    ['a page in its place', { delivery: 'html' }, 'bad_document'],
    ['nothing in its place', { delivery: 'empty' }, 'bad_document'],
    ['a page of the proxy in front', { gateway: 'html_502' }, 'unreachable'],
    ['nothing from the proxy in front', { gateway: 'empty_503' }, 'unreachable'],
  ]
  it.each(stories)(
    '%s: the Company is found, or not believed, and nothing is sent there',
    async (_name, faults, end) => {
      const { company, session } = await visitHostileCompany(using(faults))
      expect(await endOf(session().then((here) => here.start()))).toBe(end)
      expect(company.findings).toEqual([])
      expect(company.trapped).toEqual([])
      if (end !== 'fine') expect(company.requests.filter(({ route }) => route === 'token')).toEqual([])
    },
  )

  it.each(['silent', 'slow'] as const)('that are %s: given up in time', async (delivery) => {
    hurry()
    const { session, company } = await visitHostileCompany(using({ delivery }))
    expect(await endOf(session())).toBe('unreachable')
    expect(company.findings).toEqual([])
  })

  it('are read once where their headers let them be kept, and each time where not [3.cache-document, 3.2.cache-metadata]', async () => {
    const kept = await visitHostileCompany(using({ cacheControl: 'max-age=600' }))
    const asked = await visitHostileCompany(using({ cacheControl: 'no-store' }))
    const plain = await visitHostileCompany(using({ cacheControl: null }))
    for (const { session } of [kept, asked, plain]) {
      await session()
      await session()
    }
    const count = ({ company }: HostileVisit) => company.requests.filter(({ route }) => route === 'poppy.json').length
    expect([count(kept), count(asked)]).toEqual([1, 2])
    for (const { company } of [kept, asked, plain]) expect(company.findings).toEqual([])
  })

  it('of an MCP server are never asked for by an agent that has its token: what they name changes nothing', async () => {
    for (const mcpMetadata of ['other_issuer', 'other_resource'] as const) {
      const { company, session } = await visitHostileCompany(using({ mcpMetadata }))
      const mcp = await (await session()).mcp()
      await mcp.call('echo')
      await mcp.close()
      expect([company.ran, company.findings]).toEqual([['echo'], []])
    }
  })
})

describe('a Company over HTTPS', () => {
  it('that redirects to plain HTTP is not followed there [3.redirect-https]', async () => {
    const name = 'company.example'
    const company = await createMisbehavingCompany({ name, tls: testTls().certFor(name) })
    onTestFinished(company.close)
    company.next(100, using({ redirect: 'http' }))
    const agent = createPersonalAgent({
      clientId: 'https://agent.example/agent.json',
      name: 'Test Agent',
      keys: [await generateKey()],
      store: memoryStore(),
      fetch: namedFetch({}),
    })
    expect(await endOf(agent.forUser('maya').company(company.origin))).toBe('untrusted_company')
    expect([company.trapped, company.findings]).toEqual([[], []])
    // Whoever follows it is found.
    await namedFetch({})(`${company.origin}/.well-known/poppy.json`)
    expect(company.findings.map(({ requirement }) => requirement)).toEqual(['3.redirect-https'])
  })
})

describe('nonces', () => {
  it.each(['never', 'on_success', 'on_refusal', 'always'] as const)(
    'that change %s are followed, at the price of one more request at most [K10, K11, 4.3.nonce-agent]',
    async (nonceRotation) => {
      const { company, session, sent } = await visitHostileCompany(using({ nonce: 'required', nonceRotation }), {
        fetch: oneConnection(),
      })
      const here = await session()
      for (const text of ['a', 'b', 'c']) await here.call('echo', { text })
      expect(sent().filter((line) => / (?:400|401)$/.test(line))).toHaveLength(1)
      expect(company.ran).toHaveLength(3)
      expect(company.findings).toEqual([])
    },
  )

  it.each(['forever', 'headerless'] as const)(
    'asked for %s end in an error after one more try at most [K12]',
    async (nonce) => {
      for (const route of ['token', 'tool'] as const) {
        const { company, session, sent } = await started({ nonce }, route)
        const here = await session(route === 'token' ? 'another' : 'default')
        expect(await endOf(here.call('echo'))).toBe('proof_refused')
        expect(sent().filter((line) => /(?:token|echo) 40[01]$/.test(line))).toHaveLength(nonce === 'forever' ? 2 : 1)
        expect(company.findings).toEqual([])
      }
    },
  )
})

describe('answers of the token endpoint', () => {
  const unusable: readonly (readonly [string, Faults])[] = [
    ['of type Bearer', { tokenType: 'Bearer' }],
    ['of no type', { tokenType: null }],
    ['of a type that nobody knows', { tokenType: 'N_A' }],
    ['with a line break in the token', { tokenText: 'line_break' }],
    ['with a token that no header can carry', { tokenText: 'not_ascii' }],
    ['with an empty token', { tokenText: 'empty' }],
    ['with a token of forty kilobytes', { tokenText: 'huge' }],
    ['without expires_in', { expiresIn: null }],
    ['that has run out before it came', { expiresIn: 0 }],
    ['without session_id', { tokenAnswer: 'no_session_id' }],
    ['with members of other types', { tokenAnswer: 'wrong_types' }],
    ['that is half of a JSON text', { delivery: 'not_json' }],
    ['that is a page', { delivery: 'html' }],
    ['that is nothing', { delivery: 'empty' }],
    ['of ten megabytes', { delivery: 'huge' }],
    ['without end', { delivery: 'endless' }],
    ['of thirty-two megabytes, packed', { delivery: 'zip_bomb' }],
  ]
  it.each(unusable)('%s are an error, and the token is never sent [K13]', async (_name, faults) => {
    const { company, session, sent } = await started(faults, 'token')
    expect(await endOf((await session('another')).call('echo'))).toMatch(/^(?:bad_answer|fine)$/)
    expect(sent().filter((line) => line.includes('/api/'))).toEqual([])
    expect(company.findings).toEqual([])
  })

  const usable: readonly (readonly [string, Faults])[] = [
    ['in lower case', { tokenType: 'dpop' }],
    ['in upper case', { tokenType: 'DPOP' }],
    ['with every character that a token may have', { tokenText: 'odd' }],
    ['with members that nobody knows', { tokenAnswer: 'unknown_members' }],
    ['without scope', { tokenAnswer: 'no_scope' }],
    ['for one second', { expiresIn: 1 }],
  ]
  it.each(usable)('%s are used [K13]', async (_name, faults) => {
    const { company, session } = await started(faults, 'token')
    await (await session('another')).call('echo')
    expect([company.ran, company.findings]).toEqual([['echo'], []])
  })

  it.each(['html_502', 'empty_503'] as const)(
    '%s from a proxy in front are an error that may pass',
    async (gateway) => {
      const { company, session } = await started({ gateway }, 'token', 1)
      const error = await agentErrorOf((await session('another')).call('echo'))
      expect([error.code, error.action]).toEqual(['company_error', 'retry'])
      await (await session('another')).call('echo')
      expect([company.ran, company.findings]).toEqual([['echo'], []])
    },
  )

  it.each(['trap', 'private', 'loop'] as const)(
    'with a redirect (%s) are not followed: it would take the assertions along',
    async (redirect) => {
      for (const route of ['token', 'tool'] as const) {
        const { company, session } = await started({ redirect }, route)
        expect(await endOf((await session(route)).call('echo'))).toBe('bad_answer')
        expect([company.trapped, company.findings]).toEqual([[], []])
      }
    },
  )
})

describe('Sessions', () => {
  it.each(['invalid_session', 'account_mismatch'] as const)(
    'that end in %s at renewal are begun anew [4.2.session-ended-agent, 4.4.account-mismatch-agent, 4.9.continue-signed-out-agent]',
    async (refuse) => {
      const { company, session, clock } = await visitHostileCompany({}, { fetch: oneConnection() })
      const here = await session()
      const { sessionId } = await here.start()
      clock.now += 3600_000
      company.next(1, using({ refuse }), 'token')
      await here.call('echo')
      expect((await here.state()).sessionId).not.toBe(sessionId)
      expect(company.findings).toEqual([])
    },
  )

  it('of a client that is refused are not asked for again and again', async () => {
    const { company, session, sent } = await started({ refuse: 'invalid_client' }, 'token')
    expect(await endOf((await session('another')).start())).toBe('client_refused')
    expect(sent()).toHaveLength(1)
    expect(company.findings).toEqual([])
  })

  it('go on signed out once the User disconnects the Personal Agent [4.9.disconnect-agent, 4.8.invalid-grant-agent]', async () => {
    const { company, session, signIn, clock } = await visitHostileCompany({}, { fetch: oneConnection() })
    const here = await session()
    await signIn(here, ['poppy:read'])
    company.disconnect()
    expect(await endOf(here.call('get_order', { id: '1' }))).toBe('sign_in_required')
    clock.now += 3600_000
    await here.call('echo')
    expect([company.ran, company.findings]).toEqual([['echo'], []])
  })
})

describe('challenges', () => {
  const forms: readonly ChallengeForm[] = [
    'other_scheme_first',
    'two_lines',
    'escaped_quotes',
    'commas',
    'bare',
    'upper_case',
    'similar_names',
    'only_body',
  ]
  it.each(forms)(
    'are read in the form "%s", at an API and at an MCP server [K41, 6.challenge-agent]',
    async (challenge) => {
      const { company, session, signIn } = await visitHostileCompany(using({ challenge }), { fetch: oneConnection() })
      const here = await session()
      await signIn(here, ['poppy:read'])
      const error = await agentErrorOf(here.call('save_note', {}))
      expect([error.code, error.scopes]).toEqual(['insufficient_scope', ['poppy:read', 'poppy:write']])
      const mcp = await here.mcp()
      const inMcp = await agentErrorOf(mcp.call('save_note'))
      expect([inMcp.code, inMcp.scopes]).toEqual(['insufficient_scope', ['poppy:read', 'poppy:write']])
      await mcp.close()
      expect(company.findings).toEqual([])
    },
  )

  it('inside MCP say the same', async () => {
    const { company, session, signIn } = await visitHostileCompany(using({ toolErrors: true }))
    const here = await session()
    await signIn(here, ['poppy:read'])
    const mcp = await here.mcp()
    const error = await agentErrorOf(mcp.call('save_note'))
    expect([error.code, error.scopes]).toEqual(['insufficient_scope', ['poppy:read', 'poppy:write']])
    await mcp.close()
    expect(company.findings).toEqual([])
  })
})

describe('services', () => {
  it('with a resource of their own get a token of their own [4.3.resource-agent]', async () => {
    const { company, session } = await visitHostileCompany(using({ resource: true }), { fetch: oneConnection() })
    await (await session()).call('echo')
    expect([company.ran, company.findings]).toEqual([['echo'], []])
  })

  it('whose answer is lost are not called a second time: only the caller knows whether that may be', async () => {
    const { company, session } = await started({ delivery: 'lost' }, 'tool')
    expect(await endOf((await session()).call('echo'))).toBe('unreachable')
    expect([company.ran, company.findings]).toEqual([['echo'], []])
  })

  it.each(['huge', 'endless', 'zip_bomb', 'cut'] as const)(
    'whose answer is %s are an error with bounds',
    async (delivery) => {
      const { company, session } = await started({ delivery }, 'tool')
      expect(await endOf((await session()).call('echo'))).toMatch(/^(?:bad_answer|unreachable)$/)
      expect(company.findings).toEqual([])
    },
  )

  it.each(['invalid_token', 'sign_in_required', 'insufficient_scope', 'extension_required'] as const)(
    'that say %s whatever is done end in an error after a few requests',
    async (refuse) => {
      const { company, session, sent } = await signedIn({ refuse }, 'tool')
      expect(await endOf((await session()).call('get_order', { id: '1' }))).not.toBe('fine')
      expect(sent().filter((line) => line.includes('/api/')).length).toBeLessThanOrEqual(3)
      expect(company.findings).toEqual([])
    },
  )
})

describe('rate limits', () => {
  const date = new Date(Date.parse('2026-11-30T12:00:20Z')).toUTCString()
  const past = new Date(Date.parse('2026-11-30T11:00:00Z')).toUTCString()
  it.each(['2', date, past, '-1', 'abc', '0', null])(
    'of Retry-After %s are kept, at documents, tokens, APIs and MCP [K55, 4.3.retry-after-agent]',
    async (retryAfter) => {
      for (const route of ['poppy.json', 'token', 'tool', 'mcp', 'revoke'] as const) {
        const visit = await visitHostileCompany()
        visit.company.next(1, using({ limit: { retryAfter } }), route)
        const here = await visit.session()
        await here.call('echo')
        const mcp = await here.mcp()
        await mcp.call('echo')
        await mcp.close()
        await visit.signIn(here, ['poppy:read'])
        await here.signOut()
        expect([route, visit.waits.length, visit.company.findings]).toEqual([route, 1, []])
      }
    },
  )

  it('of ten days are told and kept [K55, 4.3.retry-after-agent]', async () => {
    const { company, session, clock } = await started({ limit: { retryAfter: '864000' } }, 'tool', 1)
    const here = await session()
    expect(await endOf(here.call('echo'))).toBe('rate_limited')
    clock.now += 60_000
    expect(await endOf(here.call('echo'))).toBe('rate_limited')
    expect([company.ran, company.findings]).toEqual([[], []])
  })
})

describe('clocks', () => {
  it.each([600, -600, 7000, -86_000])(
    'that are %i seconds apart cost one refusal of each kind, and then nothing more',
    async (clockOffset) => {
      const { company, session, sent } = await visitHostileCompany(using({ clockOffset }), { fetch: oneConnection() })
      const here = await session()
      for (const text of ['a', 'b', 'c']) await here.call('echo', { text })
      expect(company.ran).toHaveLength(3)
      expect(sent().filter((line) => / 40[01]$/.test(line)).length).toBeLessThanOrEqual(2)
      expect(company.findings).toEqual([])
    },
  )

  it('that are days apart are not followed, and the error says whose is to be set', async () => {
    const { company, session } = await visitHostileCompany(using({ clockOffset: 3 * 86_400 }))
    expect(await endOf((await session()).call('echo'))).toBe('clock_differs')
    expect([company.ran, company.findings]).toEqual([[], []])
  })

  it.each(['missing', 'garbage', 'epoch', 'far_future'] as const)(
    'with a Date that is %s change nothing where nothing was refused, and end in an error where something was',
    async (date) => {
      const { company, session, sent } = await visitHostileCompany(using({ date }))
      await (await session()).call('echo')
      expect(company.ran).toEqual(['echo'])
      company.switches.clockOffset = 600
      sent()
      expect(await endOf((await session('another')).call('echo'))).toMatch(
        /^(?:client_refused|clock_differs|proof_refused)$/,
      )
      expect(sent().length).toBeLessThanOrEqual(3)
      expect(company.findings).toEqual([])
    },
  )
})

describe('the stories above', () => {
  it('have flipped every switch that there is, those of signing in apart', () => {
    const elsewhere = [...signInSwitches, ...waysInSwitches, ...operationSwitches, ...conversationSwitches]
    const here = Object.keys(wellBehaved).filter((name) => !elsewhere.includes(name))
    expect(here.filter((name) => !flipped.has(name))).toEqual([])
  })
})
