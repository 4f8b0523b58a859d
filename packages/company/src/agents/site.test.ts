import { expect, it } from 'vitest'
import { siteOf } from './site.ts'

it.each([
  ['agent.example', 'agent.example'],
  ['a.b.agent.example', 'agent.example'],
  ['agent.example:8443', 'agent.example'],
  ['agent.example.', 'agent.example'],
  ['www.agent.co.uk', 'agent.co.uk'],
  ['agent.co.uk', 'agent.co.uk'],
  ['x.agent.org.nz', 'agent.org.nz'],
  ['x.agent.de', 'agent.de'],
  ['x.agents.io', 'agents.io'],
  ['a1.q7z.de', 'q7z.de'],
  ['a2.xy.io', 'xy.io'],
  ['www.agent.com.au', 'agent.com.au'],
  ['example', 'example'],
  ['localhost:4000', 'localhost:4000'],
  ['agent.localhost:4000', 'agent.localhost:4000'],
])('%s is counted with %s', (host, site) => {
  expect(siteOf(host)).toBe(site)
})
