import { logoRoute } from './agents/routes.ts'
import { forPeople } from './browser/people-only.ts'
import { publicPath } from './discovery/addresses.ts'
import type { Route } from './http/router.ts'
import type { Operations } from './operations/create-operations.ts'
import { pageRoute } from './pages/page-route.ts'
import type { HandlerParts } from './request-handler.ts'
import { deviceRoutes } from './sign-in/device/routes.ts'
import type { People, PersonPage } from './sign-in/person.ts'
import type { SignInSettings } from './sign-in/routes.ts'

/** The pages on which a person decides, with the site's cookie and no token. Each is loaded with the first request for it. */

/** What every one of them is made with. */
function personPage(parts: HandlerParts): Omit<PersonPage, keyof People> {
  const { published, wordings, forms, requestLimits, now } = parts
  const { issuer, origin } = published.addresses
  return { issuer, origin, organization: published.name, wordings, forms, requestLimits, now }
}

/** Where people sign their agents in (4.5, 4.6), see them again (4.9), and where their logos are. */
export function signInRoutes(parts: HandlerParts, failed: Route['fail']): Record<string, Route> {
  const { published, signIn, logos } = parts
  const { addresses } = published
  if (signIn === null) return {}
  const settings: SignInSettings = {
    ...signIn,
    ...personPage(parts),
    path: publicPath(addresses.authorize),
    directory: parts.directory,
    logos,
    scope: parts.scope,
    random: parts.random,
    log: parts.log,
    offered: published.signIn.direct ?? [],
    mcpResources: parts.tokenSettings.mcpResources,
    accountTokenLifetime: parts.accountTokenLifetime,
    sessionTokenLifetime: parts.tokenSettings.tokenLifetime,
  }
  const { direct, device } = published.signIn
  const byDevice = deviceRoutes({
    ...settings,
    path: publicPath(addresses.device),
    offered: device ?? [],
    audiences: [addresses.deviceAuthorization, addresses.token, addresses.issuer],
    verificationUri: addresses.device,
  })
  return {
    ...(logos === null ? {} : { [`${addresses.routeOf(addresses.logo)}/*`]: logoRoute(logos, failed) }),
    ...(device === undefined
      ? {}
      : {
          [addresses.routeOf(addresses.deviceAuthorization)]: byDevice.authorization,
          [addresses.routeOf(addresses.device)]: forPeople(byDevice.page, parts),
        }),
    ...(direct === undefined
      ? {}
      : { [addresses.routeOf(addresses.authorize)]: forPeople(authorizeRoute(settings), parts) }),
    [addresses.routeOf(addresses.agents)]: forPeople(agentsRoute(settings, parts), parts),
  }
}

function authorizeRoute(settings: SignInSettings): Route {
  const pages = () => import('./sign-in/routes.ts')
  return pageRoute(
    {
      GET: async (request) => (await pages()).showAuthorization(request, settings),
      POST: async (request) => (await pages()).decideAuthorization(request, settings),
    },
    settings,
    (wording) => ({ problem: 'unread', outcome: wording.say('outcome.noAccess') }),
  )
}

function agentsRoute(settings: SignInSettings, { accounts, published }: HandlerParts): Route {
  const page = { ...settings, path: publicPath(published.addresses.agents), accounts }
  const pages = () => import('./accounts/agents-pages.ts')
  return pageRoute(
    {
      GET: async (request) => (await pages()).showAgents(request, page),
      POST: async (request) => (await pages()).endAgents(request, page),
    },
    settings,
    (wording) => ({ problem: 'unread', outcome: wording.say('outcome.goBack', { path: page.path }) }),
  )
}

/** The company's own page for an operation. */
export function operationPageRoute(parts: HandlerParts, { parts: operations }: Operations): Record<string, Route> {
  const { addresses } = parts.published
  const { people } = parts
  if (people === null) return {}
  const settings = {
    ...people,
    ...personPage(parts),
    operations,
    pathOf: (id: string) => publicPath(addresses.operationPage(id)),
  }
  const pages = () => import('./operations/operation-pages.ts')
  const route = pageRoute(
    {
      GET: async (request, id) => (await pages()).showOperation(request, id, settings),
      POST: async (request, id) => (await pages()).decideOperation(request, id, settings),
    },
    parts,
    (wording) => ({ problem: 'unread', outcome: wording.say('outcome.unchanged') }),
  )
  return { [`${addresses.routeOf(addresses.operations)}/*/page`]: forPeople(route, parts) }
}
