import { createHash, timingSafeEqual } from 'node:crypto'
import type { Staff } from 'poppyseed'

/** How the Company knows who of the help desk does something: the adapter's own token, and the name of the person beside it. */

const headers = { id: 'x-desk-agent', name: 'x-desk-agent-name' } as const

/** The headers that a request of the adapter has. */
export function headersOf(token: string, { id, name }: Staff): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}`, [headers.id]: id, [headers.name]: encodeURIComponent(name) }
}

/**
 * Part of a company's own `staff`: who it is, for requests of the adapter; null for all others.
 * @param token at least 32 characters from a random source
 */
export function deskStaff(token: string): (request: Request) => Staff | null {
  if (token.length < 32) throw new TypeError('The token of the adapter has at least 32 characters.')
  const expected = digest(`Bearer ${token}`)
  return (request) => {
    // Of equal length, and compared without telling by the time that it takes where they differ.
    if (!timingSafeEqual(digest(request.headers.get('authorization') ?? ''), expected)) return null
    const id = request.headers.get(headers.id)
    const name = request.headers.get(headers.name)
    if (id === null || name === null) return null
    try {
      return { id, name: decodeURIComponent(name) }
    } catch {
      return null
    }
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest()
