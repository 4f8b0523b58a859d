import {
  Client,
  createPrivateKeyJwtAuth,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { onTestFinished } from 'vitest'
import { createPerson } from '../../examples/hotel/src/person.ts'
import { guests } from './site.ts'

/** An MCP client as it is in the world: the official library, its own OAuth provider, and a host that opens the browser. */

/** `private_key_jwt`: it has a key. `none`: it can't authenticate. */
export type Authentication = 'private_key_jwt' | 'none'

export const clientId = 'https://client.example/mcp.json'
const redirectUri = 'https://client.example/back'
const keysUri = 'https://client.example/keys.json'

/** What the person does when the browser is opened: the rights that they tick, or null for "Decline". */
export type Answer = readonly string[] | null

/** Holds a request of the client's back: a network is slow with some of them. */
export type Hold = (method: string, path: string) => Promise<void> | undefined

/** A request that the client sent, by what it was. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly body: string
  readonly challenge: string
}

/** Makes a client with documents that the Company can fetch; nothing of it knows Poppy. */
export async function makeMcpClient(authentication: Authentication) {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const documents: Record<string, unknown> = {
    [clientId]: {
      client_id: clientId,
      client_name: 'Some MCP Client',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authentication,
      ...(authentication === 'none' ? {} : { jwks_uri: keysUri }),
    },
    ...(authentication === 'none'
      ? {}
      : { [keysUri]: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' }] } }),
  }
  return {
    documents,
    fetchDocument: async (url: string) => {
      if (documents[url] === undefined) throw new Error('nothing at this address')
      return { document: structuredClone(documents[url]), headers: new Headers() }
    },
    /** Opens the client at one MCP address. `answers`: what the person does each time the browser opens. */
    open: async (mcpUrl: string, answers: (Answer | Promise<Answer>)[], options: object = {}, hold?: Hold) =>
      openClient({
        mcpUrl,
        answers,
        options,
        hold,
        key: authentication === 'none' ? null : await exportJWK(privateKey),
      }),
  }
}

async function openClient({
  mcpUrl,
  answers,
  options,
  hold,
  key,
}: {
  readonly mcpUrl: string
  readonly answers: (Answer | Promise<Answer>)[]
  readonly options: object
  readonly hold: Hold | undefined
  readonly key: JWK | null
}) {
  const sent: Sent[] = []
  /** The scopes of each sign-in that the client began. */
  const asked: string[] = []
  const { provider, kept } = makeProvider(key)
  const person = createPerson(async (request) =>
    request.url.startsWith(redirectUri) ? new Response('You can close this window.') : fetch(request),
  )
  const newTransport = () =>
    new StreamableHTTPClientTransport(new URL(mcpUrl), {
      authProvider: provider,
      fetch: async (target, init) => {
        const about = { method: init?.method ?? 'GET', path: new URL(String(target)).pathname }
        await hold?.(about.method, about.path)
        const response = await fetch(target, init)
        sent.push({
          ...about,
          status: response.status,
          body: String(init?.body ?? ''),
          challenge: response.headers.get('www-authenticate') ?? '',
        })
        return response
      },
    })
  let transport = newTransport()
  const client = new Client({ name: 'some-mcp-client', version: '1' }, options)
  onTestFinished(() => client.close())

  /** The host's part: the browser, once; what comes back goes to the library. */
  async function useBrowser(): Promise<void> {
    const address = kept.address
    const thinking = answers.shift()
    if (!address || thinking === undefined) throw new Error('nobody is at the browser')
    asked.push(address.searchParams.get('scope') ?? '')
    const first = await person.open(address.href)
    const answer = await thinking
    const page = first.html.includes('name="password"') ? await person.submit(first, guests.maya) : first
    const back = await person.submit(page, { scope: answer ?? [], decision: answer === null ? 'decline' : 'approve' })
    if (!back.url.startsWith(redirectUri)) throw new Error(`the browser stayed at ${back.url}`)
    await transport.finishAuth(new URL(back.url).searchParams)
  }

  /** As a host does it: where the library asks for the person, once through the browser, and once again. */
  async function withPerson<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error
      await useBrowser()
      return work()
    }
  }

  return {
    client,
    sent,
    asked,
    tokens: () => kept.tokens,
    connect: async () => {
      try {
        await client.connect(transport)
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error
        await useBrowser()
        // One that was refused can't be started again.
        transport = newTransport()
        await client.connect(transport)
      }
    },
    call: (name: string, input: Record<string, unknown> = {}) =>
      withPerson(() => client.callTool({ name, arguments: input })),
  }
}

/** The provider that each host writes for itself: it keeps what it is handed. */
function makeProvider(key: JWK | null) {
  const kept: {
    tokens?: StoredOAuthTokens
    information?: StoredOAuthClientInformation
    verifier?: string
    discovery?: OAuthDiscoveryState
    address?: URL
  } = {}
  const provider: OAuthClientProvider = {
    redirectUrl: redirectUri,
    clientMetadataUrl: clientId,
    clientMetadata: { client_name: 'Some MCP Client', redirect_uris: [redirectUri] },
    state: () => crypto.randomUUID(),
    clientInformation: () => kept.information,
    saveClientInformation(information) {
      kept.information = information
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens
    },
    saveCodeVerifier(verifier) {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier ?? '',
    discoveryState: () => kept.discovery,
    saveDiscoveryState(state) {
      kept.discovery = state
    },
    redirectToAuthorization(address) {
      kept.address = address
    },
    invalidateCredentials(what) {
      if (what === 'tokens') delete kept.tokens
      if (what === 'client') delete kept.information
    },
    ...(key === null
      ? {}
      : {
          addClientAuthentication: createPrivateKeyJwtAuth({
            issuer: clientId,
            subject: clientId,
            privateKey: { ...key },
            alg: 'ES256',
          }),
        }),
  }
  return { provider, kept }
}
