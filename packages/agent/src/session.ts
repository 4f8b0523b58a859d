import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { coversScopes, type OAuthMetadata } from '@poppyseed/protocol'
import type { CallInput } from './apis/build-request.ts'
import { type CallResult, type CompanyApiOperation, callOne, type ListOptions, listOperations } from './apis/call.ts'
import { type CompanyTool, companyTools, type ToolsOptions } from './apis/company-tools.ts'
import { connectMcp, type McpConnection, mcpTransport } from './apis/mcp.ts'
import { type SessionFetch, sessionFetch } from './apis/session-fetch.ts'
import { joinBrowser } from './browser/join-browser.ts'
import type { OneShotPage } from './browser/one-shot-page.ts'
import type { AgentContext } from './context.ts'
import { createConversations, type SessionConversations } from './conversations/conversations.ts'
import type { FoundCompany } from './discovery/discover.ts'
import { createOperations, type SessionOperations } from './operations/operations.ts'
import { beginDeviceSignIn, type PendingDeviceSignIn } from './sessions/device-sign-in.ts'
import { type MediatedSignInRequest, signInMediated } from './sessions/mediated-sign-in.ts'
import { forgetRetired, revokeRetired } from './sessions/retired.ts'
import { beginSignIn, type PendingSignIn } from './sessions/sign-in.ts'
import type { SignInResult } from './sessions/sign-in-end.ts'
import { isMendedBySignIn, revokeToken } from './sessions/token-endpoint.ts'
import type { SessionTokens, TokenWanted } from './sessions/tokens.ts'

/** A Session of one User at one Company (4). Tokens stay inside: nothing here gives one out. */
export interface Session {
  readonly name: string
  /** Which of the User's accounts at the Company; most Users have one. */
  readonly account: string
  /** Starts the Session, or renews its token, if it must be. Calls do so themselves. */
  readonly start: () => Promise<SessionState>
  /** How the Session stands, as last heard; asks nobody. */
  readonly state: () => Promise<SessionState>
  /** What the Company's OpenAPI documents call operations (6): all that can be called by its id. */
  readonly apiOperations: (options?: ListOptions) => Promise<readonly CompanyApiOperation[]>
  /** Conversations with the Company (7). */
  readonly conversations: SessionConversations
  /** Operations: what the Company proposes, the owner approves, and is done at most once. */
  readonly operations: SessionOperations
  /**
   * All that can be called, by OpenAPI or MCP, in one form (6): name, description, JSON Schema of the input, and a `call`.
   * `@poppyseed/agent/ai` makes tools of the AI SDK of them.
   */
  readonly tools: (options?: ToolsOptions) => Promise<readonly CompanyTool[]>
  /**
   * Calls one of {@link Session.apiOperations} by its id (6). Where the Company proposes an operation instead of doing it, the
   * result has it as `operation`; `operations.confirm` asks the owner.
   * @param input values by name: parameters go where the document says, the rest is the JSON body
   * @throws AgentError
   */
  readonly call: (
    operationId: string,
    input?: CallInput,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<CallResult>
  /**
   * `fetch` with the Session's token and a fresh proof, for any address at a service that the Company publishes (4.3, 6);
   * what is another's is refused before anything is sent. A token that was refused is renewed and a nonce taken, once.
   * Redirects are not followed; with `redirect: 'manual'` one is given back. A body that is a stream is sent once: where
   * it would have to be sent again this ends in `body_spent`, and a call with a new stream works. No token and no proof
   * stands in what comes back.
   * @throws AgentError as `call` does, but gives an answer of 400 and above back where it isn't about the token
   */
  readonly fetch: SessionFetch
  /** A transport for the official MCP client, for one MCP server of the Company: the first, or the one of `url` (6). */
  readonly mcpTransport: (options?: { readonly url?: string }) => Promise<StreamableHTTPClientTransport>
  /** Connects the official MCP client to an MCP server of the Company. Close it when done. */
  readonly mcp: (options?: { readonly url?: string }) => Promise<McpConnection>
  /**
   * Begins Direct Sign-In (4.5): show `url` to the User, then await `done`. Several may be under way at once.
   * @param request what the task needs; scopes that are granted, as the Company says now, are asked for again with them
   */
  readonly beginSignIn: (request: { readonly scopes: readonly string[] }) => Promise<PendingSignIn>
  /**
   * Begins Device Sign-In (4.6): show the User `verificationUri` and `userCode`, or `verificationUriComplete` as a link or
   * QR code, then await `done`. The User does the rest in person, on any device. The device code stays in this process: a
   * sign-in that another process began can't be gone on with.
   * @param request what the task needs, as with {@link Session.beginSignIn}; `signal` ends the waiting
   * @throws AgentError `sign_in_unavailable`; `done` ends in `sign_in_declined`, `sign_in_expired`, `sign_in_failed`, or the
   *   signal's own reason
   */
  readonly beginDeviceSignIn: (request: {
    readonly scopes: readonly string[]
    readonly signal?: AbortSignal
  }) => Promise<PendingDeviceSignIn>
  /**
   * Mediated Sign-In (4.7), where the Company chose to offer it: signs in with credentials that the User gave this agent
   * for this Company. They are sent to its endpoint for that and nowhere else, no redirect is followed, and nothing of them
   * is kept, logged or told. Keep them out of a model's sight: `ask` and `code` are for a person.
   * @throws AgentError `sign_in_unavailable`, `invalid_input`, `sign_in_failed`, `sign_in_expired` or, where the Company
   *   limits attempts, `rate_limited`
   */
  readonly signInMediated: (request: MediatedSignInRequest) => Promise<SignInResult>
  /**
   * Signs in for these scopes: with the Account Token if one that is held covers them (4.4), else by Direct Sign-In, for
   * which `open` gets the address, by Device Sign-In, for which `show` gets link and code, or by Mediated Sign-In, with
   * `credentials` or `ask`. With an Account Token the Company is asked first what it still gives, by one request: the owner
   * may have disconnected this agent there (4.9). Where the Company fails to say so the User signs in anew; where it can't be
   * reached this ends in that.
   */
  readonly signIn: (request: SignInRequest) => Promise<SignInResult>
  /** Finishes a sign-in with the URL that the User's browser was sent back to, where the host takes it itself. */
  readonly completeSignIn: (callbackUrl: string) => Promise<SignInResult>
  /**
   * Lets a browser that the agent controls join this Session (5), before it browses the Company's website. Open `url` in
   * that browser, once, within half a minute: a page on this machine posts a signed assertion to the Company, in the body,
   * and the Company sends the browser on to `returnTo`. A browser that is driven by a program (`navigator.webdriver`) needs
   * nothing more; any other waits for its button to be pressed.
   *
   * **Never open it in the User's own browser**: what they did there afterwards would count as done by the agent, in the
   * agent's Session. The website then follows the Session: it is signed in, has its scopes and is signed out with it.
   * @param request `returnTo`: HTTPS on the Company's domain or a subdomain; the front page when left out
   * @throws AgentError `browser_unavailable` where the Company lists no endpoint for it: browse as an ordinary visitor;
   *   `foreign_origin` for a page that is not the Company's
   */
  readonly joinBrowser: (request?: { readonly returnTo?: string }) => Promise<OneShotPage>
  /**
   * Signs out (4.9): revokes the Account Token; every Session with this account goes on signed out. Older Account Tokens
   * that could not be revoked when they were replaced are tried again too; `AgentUser.companies` counts those that are left.
   * @throws AgentError `revocation_failed` or `unreachable`: the Account Token is kept, so it can be tried again
   */
  readonly signOut: () => Promise<{ readonly revoked: boolean }>
  /** Ends the Session without signing out (4.9): it is not used again, and its tokens are forgotten. */
  readonly end: () => Promise<void>
}

/** What to sign in for, and how the User is asked where they must be. */
export type SignInRequest =
  | {
      readonly scopes: readonly string[]
      readonly open: (url: string) => void | Promise<void>
      /** Ends the waiting, with its own reason. */
      readonly signal?: AbortSignal
    }
  | {
      readonly scopes: readonly string[]
      readonly show: (pending: PendingDeviceSignIn) => void | Promise<void>
      readonly signal?: AbortSignal
    }
  | MediatedSignInRequest

/** How a Session stands. */
export interface SessionState {
  /** Not a credential (4.2). */
  readonly sessionId: string | null
  readonly signedIn: boolean
  /** Scopes of the account that the newest token has. */
  readonly scopes: readonly string[]
  /** Scopes of the Account Token that is held; null without one. */
  readonly account: { readonly scopes: readonly string[]; readonly expiresAt: number | null } | null
}

const anywhere: TokenWanted = { kind: 'dpop', resource: undefined }

/** Makes the Session of one User at one Company; nothing is sent before it is used. */
export function createSession(
  context: AgentContext,
  tokens: SessionTokens,
  address: string,
  find: () => Promise<FoundCompany & { readonly server: OAuthMetadata }>,
  complete: (callbackUrl: string) => Promise<SignInResult>,
): Session {
  const state = async (): Promise<SessionState> => {
    const [session, account] = [await tokens.records.session(), await tokens.records.account()]
    return {
      sessionId: session.sessionId,
      signedIn: session.signedIn,
      scopes: session.tokens.at(-1)?.scopes ?? [],
      account: account ? { scopes: account.scopes, expiresAt: account.expiresAt } : null,
    }
  }
  const parts = { context, tokens, find, address }
  const begin = async (scopes: readonly string[], signal?: AbortSignal) =>
    beginSignIn(context, await find(), tokens, address, scopes, signal)
  const beginDevice = async (scopes: readonly string[], signal?: AbortSignal) =>
    beginDeviceSignIn(context, await find(), tokens, scopes, signal)

  /** 4.9: whether the Account Token still signs in. What a new sign-in may mend keeps nobody from it. */
  const confirmAccount = async (): Promise<boolean> => {
    try {
      return await tokens.confirmAccount()
    } catch (error) {
      if (!isMendedBySignIn(error)) throw error
      await tokens.startWithoutAccount()
      return false
    }
  }

  return {
    name: tokens.place.session,
    account: tokens.place.account,
    state,
    start: async () => {
      await tokens.get(anywhere)
      return state()
    },
    apiOperations: async (options = {}) => listOperations(context, await find(), options),
    conversations: createConversations(parts),
    operations: createOperations(parts),
    tools: async (options = {}) => companyTools(parts, await find(), options),
    call: async (operationId, input = {}, options = {}) => callOne(parts, await find(), operationId, input, options),
    fetch: async (input, init) => sessionFetch(context, await find(), tokens, input, init),
    mcpTransport: async ({ url } = {}) => mcpTransport(context, await find(), tokens, url),
    mcp: async ({ url } = {}) => connectMcp(parts, await find(), url),
    beginSignIn: async ({ scopes }) => {
      await confirmAccount()
      return begin(scopes)
    },
    beginDeviceSignIn: async ({ scopes, signal }) => {
      await confirmAccount()
      return beginDevice(scopes, signal)
    },
    signInMediated: async (request) => {
      await confirmAccount()
      return signInMediated(context, await find(), tokens, request)
    },
    signIn: async (request) => {
      const { scopes } = request
      // 4.9: the owner may have ended the access at the Company, or taken a part of it away; nobody tells us
      if (await confirmAccount()) {
        const granted = (await tokens.records.account())?.scopes ?? []
        if (scopes.length > 0 && coversScopes(granted, scopes))
          return { granted: [...granted], asked: [...scopes], missing: [], replaced: 'none', switched: false }
      }
      if ('show' in request) {
        const pending = await beginDevice(scopes, request.signal)
        await request.show(pending)
        return pending.done
      }
      if (!('open' in request)) return signInMediated(context, await find(), tokens, request)
      const pending = await begin(scopes, request.signal)
      await request.open(pending.url)
      return pending.done
    },
    completeSignIn: complete,
    joinBrowser: async ({ returnTo } = {}) => joinBrowser(context, await find(), tokens, returnTo),
    signOut: async () => {
      const { server } = await find()
      return tokens.alone(async () => {
        const account = await tokens.records.account()
        if (account) {
          await revokeToken(context, server, account.token)
          await tokens.records.saveAccount(undefined, account.token)
          await forgetRetired(context, tokens.place, account.token)
        }
        await tokens.records.signOutSessions()
        // 4.4: older ones too, which could not be revoked when they were replaced
        await revokeRetired(context, server, tokens.place, 'all')
        return { revoked: account !== undefined }
      })
    },
    end: () => tokens.alone(() => tokens.records.forgetSession()),
  }
}
