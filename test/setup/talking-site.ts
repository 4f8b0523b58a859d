import { createPersonalAgent, generateKey, memoryStore, type PersonalAgent, type Session } from '@poppyseed/agent'
import type { Company, CompanyAgent, CompanyConfig } from 'poppyseed'
import { onTestFinished } from 'vitest'
import { createPerson } from '../../examples/hotel/src/person.ts'
import { bookings, type Counts } from './bookings.ts'
import { watchWire } from './canaries.ts'
import { listen } from './listen.ts'
import { createSiteCompany, guests, makeSitePages, siteHandler } from './site.ts'

/** A Company whose own agent answers, and a Personal Agent that talks with it, over real HTTP; its wire and log are watched. */
export async function openTalkingSite(agent: CompanyAgent, config: Partial<CompanyConfig> = {}) {
  const counts: Counts = { propose: 0, perform: 0 }
  const wire = watchWire()
  const log: string[] = []
  const pages = makeSitePages()
  let company: Company | undefined
  const { origin } = await listen(async (origin) => {
    company = createSiteCompany({ origin, pages, log }, { agent, operations: bookings(counts), ...config })
    await company.start()
    const handler = siteHandler(company, pages)
    const watched = wire.watch(handler)
    // An answer is read whole by the watch, and a stream has no end to wait for.
    return (request) =>
      request.headers.get('accept')?.includes('text/event-stream') ? handler(request) : watched(request)
  })
  onTestFinished(() => company?.close())

  let personal: PersonalAgent | undefined
  const keys = [await generateKey()]
  await listen((own) => {
    personal = createPersonalAgent({
      clientId: `${own}/agent.json`,
      name: 'Test Agent',
      keys,
      store: memoryStore(),
      allowHttp: true,
    })
    return personal.fetch
  })
  const session = (await (personal as unknown as PersonalAgent).forUser('maya').company(origin)).session()
  const signIn = (scopes: readonly string[], into: Session = session) =>
    into.signIn({
      scopes,
      open: async (url) => {
        const person = createPerson()
        const consent = await person.submit(await person.open(url), guests.maya)
        await person.submit(consent, { scope: scopes, decision: 'approve' })
      },
    })
  return { origin, company: company as unknown as Company, session, signIn, counts, wire, log }
}
