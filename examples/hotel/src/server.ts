import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { join } from 'node:path'
import { createAdaptorServer } from '@hono/node-server'
import type { Company, CompanyConfig } from 'poppyseed'
import { stopServer } from 'poppyseed/node'
import { agentFinder, connectedAgentsOf, createHotelCompany } from './company.ts'
import { openDatabase } from './database.ts'
import { type DeskEnvironment, type DeskModel, openFrontDesk } from './front-desk-agent.ts'
import { lineLog } from './log.ts'
import { createOutbox } from './outbox.ts'
import { createPaymentService, type PaymentsAccess } from './payment-service.ts'
import { readSecret } from './secret.ts'
import { createSite } from './site.tsx'

/** How the hotel is started. */
export type HotelOptions = {
  /** 0 takes any free port. */
  readonly port: number
  /** Where the database and the secret are kept. */
  readonly directory: string
  /** How people reach the hotel. Without it: `http://localhost` and the port. */
  readonly origin?: string | undefined
  readonly log: (line: string) => void
  /** The clock, in milliseconds. */
  readonly now?: () => number
  /** Gives the payment service; asked once the port is taken. Left out, the hotel takes no deposits. */
  readonly payments?: () => Promise<PaymentsAccess>
  /** How the documents of agents are fetched; left out, the library's guarded way. */
  readonly fetchDocument?: CompanyConfig['fetchDocument']
  /** Where it is looked up whether a model answers at the front desk; left out, nobody looks and it works by rules. */
  readonly environment?: DeskEnvironment
  /** A model that answers at the front desk, whatever the environment says. */
  readonly model?: DeskModel
}

/** The hotel while it runs. */
export type Hotel = {
  readonly origin: string
  /** Where its staff answer agents and their owners. */
  readonly inbox: string
  /** Where its mails can be looked at, or null where nobody may: anywhere but on this machine. */
  readonly outboxPage: string | null
  /** Where it listens on the loopback address: what a proxy before it passes requests on to. */
  readonly port: number
  /** Who answers at the front desk, in a few words. */
  readonly frontDesk: string
  /** What jobs of the hotel's own, in this process, do with its conversations and operations. */
  readonly company: Pick<Company, 'conversations' | 'operations'>
  /** Takes no more requests, finishes those that run, and closes the database. */
  readonly close: () => Promise<void>
}

type Fetch = (request: Request) => Promise<Response>

/** How long a request may go on after `close`, in milliseconds: less than what most supervisors wait before they kill. */
const GRACE = 8000

/**
 * Starts the hotel on this machine. It listens on the loopback address alone: put a proxy before it to open it wider.
 * Rejects with Node's own error, `EADDRINUSE` among them, when it can't listen.
 */
export async function startHotel(options: HotelOptions): Promise<Hotel> {
  const now = options.now ?? Date.now
  // The port is taken before the database is touched; nobody is answered before both are there.
  let answer: Fetch = async () =>
    new Response('The hotel is opening.', { status: 503, headers: { 'retry-after': '1' } })
  // A Web Request doesn't tell who sent it. Behind a proxy this is the proxy: see "Limits" in docs/your-site.md.
  const callers = new WeakMap<Request, string>()
  const server = createAdaptorServer({
    fetch: (request, { incoming }) => {
      const { remoteAddress } = (incoming as IncomingMessage).socket
      if (remoteAddress !== undefined) callers.set(request, remoteAddress)
      return answer(request)
    },
    overrideGlobalObjects: false,
  }) as Server
  server.listen(options.port, '127.0.0.1')
  await once(server, 'listening')
  const origin = options.origin ?? `http://localhost:${portOf(server)}`

  try {
    const database = openDatabase(options.directory, now())
    const secret = readSecret(options.directory)
    const secure = origin.startsWith('https://')
    const outbox = createOutbox(database, now)
    const payments = options.payments && createPaymentService(await options.payments())
    const frontDesk = await openFrontDesk(database, now, options.environment ?? {}, options.model)
    let company: Company
    const site = createSite({
      database,
      secret,
      now,
      secure,
      log: options.log,
      connectedAgents: connectedAgentsOf(() => company),
      findAgent: agentFinder(() => company),
      outbox,
      // Whoever opens the outbox reads everybody's codes: it is for whoever tries the hotel on their own machine.
      showOutbox: !secure,
      // What they have doesn't wait until they are missed.
      onStaffSignOut: async ({ id, name }) => company.conversations.withdraw({ id, name }),
    })
    company = createHotelCompany({
      database,
      origin,
      secret: Buffer.from(secret).toString('base64url'),
      file: join(options.directory, 'poppy.db'),
      account: async (request) => {
        const guest = await site.guest(request)
        return guest && { id: guest.id, name: guest.email }
      },
      staff: async (request) => {
        const staff = await site.staff(request)
        return staff && { id: staff.id, name: staff.name }
      },
      outbox,
      isOutboxShown: !secure,
      payments,
      agent: frontDesk.agent,
      address: (request) => callers.get(request) ?? '',
      log: lineLog(options.log),
      now,
      ...(options.fetchDocument ? { fetchDocument: options.fetchDocument } : {}),
    })
    await company.start()
    answer = (request) => (company.owns(request) ? company.fetch(request) : site.fetch(request))
    return {
      origin,
      inbox: `${origin}/poppy/inbox`,
      outboxPage: secure ? null : `${origin}/outbox`,
      port: portOf(server),
      frontDesk: frontDesk.words,
      company,
      close: async () => {
        await stopServer(server, company, { deadline: GRACE })
        database.close()
      },
    }
  } catch (error) {
    server.close()
    server.closeAllConnections()
    throw error
  }
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The hotel listens on no port.')
  return address.port
}
