/** Who takes part in the bench, and what a server under test says when it is ready. */

import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { calculateJwkThumbprint, type JWK } from 'jose'

/** A key pair as JWKs. */
export interface Keys {
  readonly publicJwk: JWK
  readonly privateJwk: JWK
  readonly thumbprint: string
}

/** A Personal Agent: its `client_id` and the keys of its assertions. */
export interface Client {
  readonly id: string
  readonly keys: Keys
}

/** Everyone. Calls are spread over the proof keys, one Session each; Session starts over clients and proof keys. */
export interface Parties {
  readonly clients: readonly Client[]
  readonly proofKeys: readonly Keys[]
}

/** The line that a server prints when it listens. */
export interface Ready {
  readonly port: number
  /** Scheme and host of `htu`. */
  readonly origin: string
  readonly call?: {
    readonly method: 'GET' | 'POST'
    readonly path: string
    readonly body: string
    /** One token for each proof key, in their order. */
    readonly tokens: readonly string[]
  }
  readonly start?: {
    readonly path: string
    /** `session`: with a Session assertion (4.2). `client_credentials`: the nearest thing that the peer has. */
    readonly grant: 'session' | 'client_credentials'
    /** The `aud` of the client assertion. */
    readonly audience: string
  }
  /** The MCP server, and a Bearer token for it for each proof key. */
  readonly mcp?: { readonly path: string; readonly tokens: readonly string[] }
}

export async function makeParties(clients: number, proofKeys: number): Promise<Parties> {
  return {
    clients: await Promise.all(
      Array.from({ length: clients }, async (_, n) => ({
        id: `https://agent-${n}.example/agent.json`,
        keys: await makeKeys(),
      })),
    ),
    proofKeys: await Promise.all(Array.from({ length: proofKeys }, makeKeys)),
  }
}

async function makeKeys(): Promise<Keys> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicJwk = publicKey.export({ format: 'jwk' }) as JWK
  const thumbprint = await calculateJwkThumbprint(publicJwk)
  return { publicJwk, privateJwk: privateKey.export({ format: 'jwk' }) as JWK, thumbprint }
}

/** Parties travel to the servers in a file. */
export function writeParties(path: string, parties: Parties): void {
  writeFileSync(path, JSON.stringify(parties), { mode: 0o600 })
}

/** What a server is started with: `node server.ts parties.json folder`. */
export function readArguments(): { readonly parties: Parties; readonly folder: string } {
  const [, , path, folder] = process.argv
  if (!path || !folder) throw new Error('usage: node server.ts parties.json folder')
  return { parties: JSON.parse(readFileSync(path, 'utf8')) as Parties, folder }
}

/** Starts to listen on a free port; the server ends when the one who started it is gone. */
export async function listen(
  server: Server = createServer(),
): Promise<{ readonly server: Server; readonly port: number }> {
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  process.stdin.on('end', () => process.exit()).resume()
  return { server, port: (server.address() as AddressInfo).port }
}

export function sayReady(ready: Ready): void {
  process.stdout.write(`${JSON.stringify(ready)}\n`)
}
