import { isJsonObject } from '@poppyseed/protocol'
import type { Fetch } from '../../net/exchange.ts'
import { clean } from '../terminal.ts'

/** `--trace`: the requests of a chat beside it. What is secret in them is named, and never shown. */

/** What may be shown of a form that is sent to an OAuth endpoint (4.2); of all else only that it is there. */
const plainParameters = new Set(['grant_type', 'client_id', 'scope', 'resource', 'client_assertion_type'])
/** Endpoints whose bodies are a conversation's: they hold what was said, and no credential. */
const conversation = /\/(?:messages|handoff|close)$/

/** The same fetch, telling of each request what was asked and what was answered. */
export function traced(fetch: Fetch, tell: (line: string) => void, now: () => number): Fetch {
  return async (url, init) => {
    const began = now()
    tell(`→ ${init.method ?? 'GET'} ${shown(url)}${headersOf(init)}`)
    const body = bodyOf(url, init)
    if (body !== undefined) tell(`  ${body}`)
    try {
      const response = await fetch(url, init)
      const type = response.headers.get('content-type')?.split(';')[0] ?? 'no body'
      tell(`← ${response.status} ${clean(type, 60)}, ${Math.round(now() - began)} ms`)
      return response
    } catch (error) {
      tell(`← no answer (${error instanceof Error ? clean(error.name, 40) : 'error'})`)
      throw error
    }
  }
}

/** An address, with the values of its query left out but for those of 7.5. */
function shown(address: string): string {
  const url = URL.parse(address)
  if (url === null) return 'an address that is none'
  const query = [...url.searchParams].map(([name, value]) =>
    name === 'wait' || name === 'cursor' ? `${name}=${value}` : `${name}=…`,
  )
  return clean(`${url.origin}${url.pathname}${query.length === 0 ? '' : `?${query.join('&')}`}`, 400)
}

function headersOf(init: RequestInit): string {
  const headers = new Headers(init.headers)
  const said: string[] = []
  const [scheme] = (headers.get('authorization') ?? '').split(' ')
  if (scheme) said.push(`${clean(scheme, 10)} token`)
  if (headers.has('dpop')) said.push('proof')
  const last = headers.get('last-event-id')
  if (last !== null) said.push(`Last-Event-ID ${clean(last, 60)}`)
  if (headers.get('accept')?.includes('text/event-stream')) said.push('stream')
  return said.length === 0 ? '' : `  [${said.join(', ')}]`
}

function bodyOf(address: string, { body, method }: RequestInit): string | undefined {
  if (body === undefined || body === null || method !== 'POST') return undefined
  if (body instanceof URLSearchParams || (typeof body === 'string' && isForm(body))) {
    const parameters = new URLSearchParams(body)
    return clean(
      [...parameters].map(([name, value]) => `${name}=${plainParameters.has(name) ? value : '…'}`).join(' '),
      400,
    )
  }
  if (typeof body !== 'string') return '(a body)'
  const value = parse(body)
  if (!isJsonObject(value)) return '(a body)'
  // A start of a conversation has a message too; anything else may be credentials (4.7), so only its members are named.
  const isSaid = conversation.test(URL.parse(address)?.pathname ?? '') || isJsonObject(value.message)
  return clean(isSaid ? body : `{ ${Object.keys(value).join(', ')} }`, 400)
}

function isForm(text: string): boolean {
  return /^[\w.~%+-]+=[^\s{]*$/.test(text)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
