import {
  type Addressee,
  createMisbehavingAgentHost,
  type MadeUpAgent,
  type MisbehavingAgentHost,
} from '@poppyseed/conformance'
import type { CompanyConfig } from 'poppyseed'
import { createDocumentFetcher } from 'poppyseed/node'
import { onTestFinished } from 'vitest'
import { testTls } from './tls.ts'
import { makeWorld, outcome, type World } from './world.ts'

/** A Company with its own guarded fetcher, and a misbehaving host of Personal Agents that it fetches from over HTTPS. */
export interface HostileWorld {
  readonly world: World
  readonly host: MisbehavingAgentHost
  readonly to: Addressee
  /** Asks for a Session as this agent. Gives status and error. */
  readonly start: (
    agent: MadeUpAgent,
    parameters?: Readonly<Record<string, string | null>>,
    proof?: string,
  ) => Promise<string>
  /** Posts any form to the token endpoint with a fresh proof. */
  readonly token: (
    agent: MadeUpAgent,
    parameters: Readonly<Record<string, string | null>>,
    proof?: string,
  ) => Promise<Response>
  /** Opens the consent page. */
  readonly openConsent: (agent: MadeUpAgent, redirectUri?: string) => Promise<Response>
}

const name = 'agents.example'

/** Opens both; they are closed when the test is over. */
export async function visitHostileHost(config: Partial<CompanyConfig> = {}): Promise<HostileWorld> {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const host = await createMisbehavingAgentHost({ name, tls: testTls().certFor(name), now: () => clock.now })
  // Of this small internet 127.0.0.1 is the one public address, and everything else is as private as ever.
  const fetchDocument = createDocumentFetcher({
    ca: testTls().ca,
    lookup: host.dns.lookup,
    isAllowedAddress: (address) => address === '127.0.0.1',
    timeout: 1500,
  })
  const world = await makeWorld({ fetchDocument, now: () => clock.now, ...config })
  onTestFinished(async () => {
    fetchDocument.close()
    await host.close()
  })
  const tokenEndpoint = `${world.origin}/poppy/token`
  const to: Addressee = { tokenEndpoint, issuer: world.origin }

  const token: HostileWorld['token'] = (agent, parameters, proof) =>
    world.send(
      new Request(tokenEndpoint, {
        method: 'POST',
        body: agent.form(to, parameters),
        headers: { dpop: proof ?? agent.proof({ method: 'POST', url: tokenEndpoint }) },
      }),
    )
  return {
    world: { ...world, clock },
    host,
    to,
    token,
    start: async (agent, parameters = {}, proof) =>
      outcome(
        await token(
          agent,
          {
            grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
            assertion: agent.sessionAssertion(to),
            ...parameters,
          },
          proof,
        ),
      ),
    openConsent(agent, redirectUri = agent.redirectUri) {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: agent.clientId,
        redirect_uri: redirectUri,
        scope: 'poppy:read',
        state: 'a-state',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      })
      return world.send(new Request(`${world.origin}/poppy/authorize?${query}`))
    },
  }
}
