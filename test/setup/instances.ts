import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CompanyConfig, Store } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { onTestFinished } from 'vitest'
import { makeWireAgent, type WireAgent } from './wire-agent.ts'
import { makeWorld, type World } from './world.ts'

/** Several Companies, or instances of one, with one clock and one Personal Agent that turns to each of them. */
export interface Instances {
  readonly clock: { now: number }
  readonly agent: WireAgent
  /** The instances, in the order of their configurations. */
  readonly worlds: readonly World[]
  /** Sends what the agent does next to this instance. */
  readonly turnTo: (number: number) => World
  /** From here on sends each request to the next instance. */
  readonly alternate: () => void
}

/** Makes one instance for each store and configuration. The agent is known at all of them. */
export async function makeInstances(
  parts: readonly { readonly store: Store; readonly config?: Partial<CompanyConfig> }[],
): Promise<Instances> {
  const clock = { now: Date.parse('2026-11-30T12:00:00Z') }
  const worlds: World[] = []
  let current = 0
  let alternates = false
  const turnTo = (number: number) => {
    current = number
    alternates = false
    const world = worlds[number]
    if (!world) throw new Error(`there is no instance ${number}`)
    return world
  }
  const agent = await makeWireAgent({
    clientId: 'https://roaming.example/agent.json',
    now: () => clock.now,
    origin: parts[0]?.config?.origin ?? 'https://miramar.example',
    send(request) {
      if (alternates) current = (current + 1) % worlds.length
      const world = worlds[current]
      if (!world) throw new Error('there is no instance')
      return world.send(request)
    },
  })
  const fetchDocument = async (url: string) => {
    if (agent.documents[url] === undefined) throw new Error('nothing at this address')
    return { document: structuredClone(agent.documents[url]), headers: new Headers() }
  }
  for (const { store, config } of parts) {
    worlds.push(await makeWorld({ now: () => clock.now, fetchDocument, ...config }, store))
  }
  const alternate = () => {
    alternates = true
  }
  return { clock, agent, worlds, turnTo, alternate }
}

/** SQLite in a file of the test's own: each call gives a store on the same file. */
export function sqliteFile(): () => Store {
  const folder = mkdtempSync(join(tmpdir(), 'poppyseed-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return () => sqlite(join(folder, 'poppy.db'))
}
