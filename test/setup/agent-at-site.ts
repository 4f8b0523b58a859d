import {
  createPersonalAgent,
  generateKey,
  memoryStore,
  type PersonalAgent,
  type PersonalAgentOptions,
  type Session,
} from '@poppyseed/agent'
import type { CompanyConfig } from 'poppyseed'
import { createPerson } from '../../examples/hotel/src/person.ts'
import { listen } from './listen.ts'
import { guests, openSite } from './site.ts'

/** Our Personal Agent at our Company, over real HTTP: a site with a listener, and Maya's agent with one of its own. */
export async function openAgentAtSite(
  config: Partial<CompanyConfig>,
  /** Hears of each request of the agent, once it is answered. Left out, the agent asks as it does by itself. */
  told?: (request: string) => void,
) {
  const site = await openSite(config)
  const keys = [await generateKey()]
  let made: PersonalAgent | undefined
  await listen((origin) => {
    made = createPersonalAgent({
      clientId: `${origin}/agent.json`,
      name: 'Test Agent',
      keys,
      store: memoryStore(),
      allowHttp: true,
      ...(told === undefined ? {} : { fetch: telling(told) }),
    })
    return made.fetch
  })
  const agent = made as unknown as PersonalAgent
  const company = await agent.forUser('maya').company(site.origin)
  /** What the company's page was asked for, each time that Maya was sent there. */
  const asked: (readonly string[])[] = []
  /** Maya approves whatever is asked for. */
  const signIn = (session: Session, scopes: readonly string[]) =>
    session.signIn({
      scopes,
      open: async (url) => {
        const wanted = (new URL(url).searchParams.get('scope') ?? '').split(' ')
        asked.push(wanted)
        const person = createPerson()
        const consent = await person.submit(await person.open(url), guests.maya)
        await person.submit(consent, { scope: wanted, decision: 'approve' })
      },
    })
  return { site, agent, company, asked, signIn }
}

function telling(told: (request: string) => void): NonNullable<PersonalAgentOptions['fetch']> {
  return async (url, init) => {
    const response = await fetch(url, init)
    told(`${init.method ?? 'GET'} ${new URL(url).pathname} ${response.status}`)
    return response
  }
}
