import { PoppyError } from '@poppyseed/protocol'
import { readForm } from '../../http/body.ts'
import { errorResponse, json } from '../../http/respond.ts'
import type { Route } from '../../http/router.ts'
import { pageRoute } from '../../pages/page-route.ts'
import { authenticateClient, identifyClient } from '../../sessions/client-authentication.ts'
import { refuseTokensInUrl } from '../../sessions/routes.ts'
import type { SignInSettings } from '../routes.ts'
import { deviceLifetime, pollInterval, startDevice } from './device-authorization.ts'

/** Section 4.6: the device authorization endpoint, and the page to which a person brings a code. */

/** What the endpoint needs. */
export interface DeviceEndpoint extends SignInSettings {
  /** What a client assertion may name in `aud` (4.1). */
  readonly audiences: readonly string[]
  /** The page's public URL. */
  readonly verificationUri: string
}

/** `POST`: gives an agent its pair of codes (RFC 8628, 3.2). */
async function authorizeDevice(request: Request, endpoint: DeviceEndpoint): Promise<Response> {
  const { requestLimits } = endpoint
  const { parameters, client } = await identifyClient(request, requestLimits, async () => {
    refuseTokensInUrl(request)
    const parameters = await readForm(request)
    const { directory, audiences } = endpoint
    const now = endpoint.now() / 1000
    return { parameters, client: await authenticateClient(parameters, request, { directory, audiences, now }) }
  })
  const notCounted = requestLimits.countTokenRequest(client.clientId)
  const { deviceCode, userCode } = await startDevice(parameters, client, await endpoint.scope(), {
    ...endpoint,
    // Somebody else's copy of a request takes nothing from the client.
    onReplay: () => {
      notCounted()
      requestLimits.countFailure(request)
    },
  })
  return json({
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: endpoint.verificationUri,
    verification_uri_complete: `${endpoint.verificationUri}?user_code=${userCode}`,
    expires_in: deviceLifetime / 1000,
    interval: pollInterval,
  })
}

/** What people see is loaded with the first of them. */
const pages = () => import('./device-pages.ts')

/** The two routes, of which one is an agent's and the other a person's. */
export function deviceRoutes(endpoint: DeviceEndpoint): { readonly authorization: Route; readonly page: Route } {
  const { log, random } = endpoint
  return {
    authorization: {
      methods: { POST: (request) => authorizeDevice(request, endpoint) },
      crossOrigin: true,
      fail: (error) => errorResponse(error, { scheme: 'DPoP', atTokenEndpoint: true }, log, random),
    },
    page: pageRoute(
      {
        GET: async (request) => (await pages()).showDevice(request, endpoint),
        POST: async (request) => (await pages()).decideDeviceRequest(request, endpoint),
      },
      endpoint,
      (wording, error) =>
        isRefusedAgent(error)
          ? { problem: 'agentRefused', outcome: wording.say('outcome.noAccessAtAll'), status: 400 }
          : { problem: 'unread', outcome: wording.say('outcome.noAccess') },
    ),
  }
}

/** Whether an error is the directory's refusal of an agent: a page in words, not an error of ours. */
function isRefusedAgent(error: unknown): boolean {
  return error instanceof PoppyError && error.code === 'invalid_client'
}
