import { isJsonObject, makeId, oauthMetadataUrl } from '@poppyseed/protocol'
import { exportJWK, generateKeyPair } from 'jose'
import { type Company, createCompany } from '../company.ts'
import type { CompanyConfig } from '../config.ts'
import { base64urlOf, systemRandom } from '../crypto/random.ts'
import type { Account } from '../sign-in/person.ts'
import type { Logger } from '../store/database.ts'
import { sqlite } from '../store/sqlite.ts'
import { accepted } from './call-refused.ts'
import {
  accountHeader,
  startTestSession,
  type TestAccount,
  type TestAgent,
  type TestEndpoints,
  type TestSession,
} from './test-session.ts'

/** A whole Company in memory, around the tools that are to be tested. No network, no listener, a clock to move. */

/**
 * Settings of {@link createTestCompany}: those of a Company, all of them optional. Who is signed in, the clock and the
 * agents' documents are the test's own.
 */
export type TestCompanyConfig = Partial<
  Omit<CompanyConfig, 'account' | 'signInPage' | 'switchAccountPage' | 'now' | 'fetchDocument' | 'log' | 'development'>
>

/** What {@link createTestCompany} gives. */
export interface TestCompany {
  readonly company: Company
  readonly origin: string
  readonly clock: {
    /** Milliseconds since 1970. */
    readonly now: () => number
    /** Moves the clock on, in milliseconds. */
    readonly advance: (milliseconds: number) => void
  }
  /** What the Company logged, every level, as `level message {fields}`. */
  readonly log: readonly string[]
  /**
   * A signed-out Session of a new User. Another agent's by its `client_id`, which lists the `extensions` that are named when
   * it is first here; left out, all that the Company lists.
   */
  readonly start: (options?: {
    readonly clientId?: string
    readonly userId?: string
    readonly extensions?: readonly string[]
  }) => Promise<TestSession>
  /** A Session that is signed in to the account, with these scopes or all that Direct Sign-In offers. */
  readonly signIn: (account: TestAccount, scopes?: readonly string[]) => Promise<TestSession>
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/**
 * Makes a Company for a test of the company's own tools.
 *
 * ```ts
 * const test = await createTestCompany({ tools: [myBookings] })
 * const maya = await test.signIn('maya', ['poppy:read'])
 * expect(await maya.call('my_bookings')).toEqual({ bookings: [] })
 * ```
 * @throws ConfigurationError as `createCompany` does
 */
export async function createTestCompany(config: TestCompanyConfig = {}): Promise<TestCompany> {
  const origin = config.origin ?? 'https://company.example'
  const random = config.random ?? systemRandom
  let moment = Date.now()
  const now = () => moment
  const log: string[] = []
  const write = (level: keyof Logger) => (fields: object, message: string) =>
    void log.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const documents = new Map<string, unknown>()
  const needed = (config.tools ?? []).flatMap((tool) => tool.scopes)
  const scopes = { ...Object.fromEntries(needed.map((scope) => [scope, `Use ${scope}`])), ...config.scopes }
  const direct = Object.keys(scopes)
  const company = createCompany({
    organization: { name: 'Test Company', domain: new URL(origin).hostname },
    origin,
    secret: base64urlOf(systemRandom(32)),
    store: sqlite(':memory:'),
    // A test may do in a second what nobody does in a day.
    limits: false,
    ...(direct.length === 0 ? {} : { signIn: { direct } }),
    ...config,
    scopes,
    account: readAccount,
    signInPage: (returnTo) => `/sign-in?next=${encodeURIComponent(returnTo)}`,
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    now,
    async fetchDocument(url) {
      const document = documents.get(url)
      if (document === undefined) throw new Error('There is nothing at this address.')
      return { document: structuredClone(document), headers: new Headers() }
    },
  })
  await company.start()
  const at = await findEndpoints(company, origin, config.signIn?.direct ?? direct)
  const agents = new Map<string, Promise<TestAgent>>()

  async function start({
    clientId = 'https://agent.example/agent.json',
    userId = makeId('usr', random),
    extensions = [
      ...Object.keys(config.extensions ?? {}),
      ...((config.operations ?? []).length > 0 ? ['operations'] : []),
    ],
  }: Parameters<TestCompany['start']>[0] = {}): Promise<TestSession> {
    let making = agents.get(clientId)
    if (!making) {
      const listed = extensions.map(
        (name) => [name, { version: String(config.extensions?.[name]?.version ?? 1) }] as const,
      )
      making = makeAgent(clientId, documents, Object.fromEntries(listed))
      agents.set(clientId, making)
    }
    return startTestSession({ agent: await making, at, userId, send: company.fetch, now, random })
  }

  return {
    company,
    origin,
    clock: {
      now,
      advance: (milliseconds) => {
        moment += milliseconds
      },
    },
    log,
    start,
    async signIn(account, scopes) {
      const session = await start()
      await session.signIn(account, scopes)
      return session
    },
    close: () => company.close(),
    [Symbol.asyncDispose]: () => company.close(),
  }
}

/** The test's person is who the request says. */
function readAccount(request: Request): Account | null {
  const header = request.headers.get(accountHeader)
  return header === null ? null : (JSON.parse(decodeURIComponent(header)) as Account)
}

async function makeAgent(
  clientId: string,
  documents: Map<string, unknown>,
  extensions: Readonly<Record<string, unknown>>,
): Promise<TestAgent> {
  const [signing, proofs] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')]
  const base = new URL(clientId).origin
  const redirectUri = `${base}/callback`
  const keyId = 'test-key'
  documents.set(clientId, {
    client_id: clientId,
    client_name: 'Test Agent',
    jwks_uri: `${base}/jwks.json`,
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
    extensions,
  })
  const jwk = { ...(await exportJWK(signing.publicKey)), kid: keyId, alg: 'ES256', use: 'sig' }
  documents.set(`${base}/jwks.json`, { keys: [jwk] })
  return {
    clientId,
    redirectUri,
    signing: { keyId, algorithm: 'ES256', privateKey: signing.privateKey },
    proofs: { privateKey: proofs.privateKey, publicJwk: await exportJWK(proofs.publicKey) },
  }
}

/** Reads what the Company publishes, as an agent would. */
async function findEndpoints(company: Company, origin: string, offered: readonly string[]): Promise<TestEndpoints> {
  const read = async (url: string) => {
    const document: unknown = await (await accepted(await company.fetch(new Request(url)))).json()
    return isJsonObject(document) ? document : {}
  }
  const { auth, apis } = (await read(`${origin}/.well-known/poppy.json`)) as {
    readonly auth: { readonly issuer: string }
    readonly apis?: readonly { readonly type: string; readonly url: string; readonly resource?: string }[]
  }
  const metadata = await read(oauthMetadataUrl(auth.issuer))
  const endpoint = (name: string) => (typeof metadata[name] === 'string' ? metadata[name] : undefined)
  const token = endpoint('token_endpoint') ?? ''
  const besideToken = (name: string) => new URL(name, token).href
  const own = (url: string) => apis?.find((api) => api.url === url)
  return {
    origin,
    token,
    authorize: endpoint('authorization_endpoint'),
    revoke: endpoint('revocation_endpoint') ?? '',
    mcp: own(besideToken('mcp'))?.url,
    mcpServers: (apis ?? []).filter(({ type }) => type === 'mcp').map(({ url }) => url),
    toolsResource: own(besideToken('openapi.json'))?.resource,
    tools: besideToken('tools'),
    offered,
  }
}
