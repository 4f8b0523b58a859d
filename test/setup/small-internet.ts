import {
  createPersonalAgent,
  generateKey,
  memoryStore,
  type PersonalAgent,
  type PersonalAgentOptions,
} from '@poppyseed/agent'
import { createDocumentFetcher } from 'poppyseed/node'
import { onTestFinished } from 'vitest'
import { createPerson, type Person } from '../../examples/hotel/src/person.ts'
import { listen } from './listen.ts'
import { namedFetch } from './names.ts'
import { testTls } from './tls.ts'

/** Both sides on a small internet: names, certificates and the guarded fetcher, all of it on this machine. */

/** What a Company fetches agents' documents with, there. */
export function internetFetcher() {
  const fetchDocument = createDocumentFetcher({
    ca: testTls().ca,
    lookup: async () => ['127.0.0.1'],
    isAllowedAddress: (address) => address === '127.0.0.1',
    timeout: 30_000,
  })
  onTestFinished(() => fetchDocument.close())
  return fetchDocument
}

export interface Visitor {
  readonly agent: PersonalAgent
  readonly person: Person
  /** Every address that agent and person asked for, in order, without query. */
  readonly asked: string[]
}

/** A Personal Agent at https://agent.example and the person that it acts for; `ports` says where the other names are. */
export async function openVisitor(
  ports: Readonly<Record<string, number>>,
  options: Partial<PersonalAgentOptions> = {},
): Promise<Visitor> {
  const keys = [await generateKey()]
  const asked: string[] = []
  let agent: PersonalAgent | undefined
  const { port } = await listen(() => (request) => agent?.fetch(request) ?? new Response(null, { status: 503 }), {
    tls: testTls().certFor('agent.example'),
  })
  const fetch = namedFetch({ 'agent.example': port, ...ports })
  const note = (url: string) => void asked.push(url.split('?')[0] ?? url)
  agent = createPersonalAgent({
    clientId: `https://agent.example:${port}/agent.json`,
    name: 'Example Agent',
    keys,
    store: memoryStore(),
    fetch: (url, init) => {
      note(url)
      return fetch(url, init)
    },
    ...options,
  })
  const person = createPerson(async ({ url, method, headers, body }) => {
    note(url)
    return fetch(url, {
      method,
      headers,
      redirect: 'manual',
      ...(body ? { body: await new Response(body).text() } : {}),
    })
  })
  return { agent, person, asked }
}
