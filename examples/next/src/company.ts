import { randomBytes } from 'node:crypto'
import { type Company, createCompany, tool } from 'poppyseed'
import { sqlite } from 'poppyseed/sqlite'
import { findBooks, loansOf, memberOf } from './library.ts'

const origin = `http://localhost:${process.env.PORT ?? 3003}`

const makeCompany = () =>
  createCompany({
    organization: { name: 'Corner Library', domain: 'localhost' },
    origin,
    development: true,
    secret: process.env.POPPY_SECRET ?? randomBytes(32).toString('base64'),
    store: sqlite(process.env.DATABASE ?? 'poppy.db'),
    account: (request) => memberOf(request.headers.get('cookie')),
    signInPage: (returnTo) => `/login?next=${encodeURIComponent(returnTo)}`,
    scopes: { 'poppy:read': 'See your loans' },
    signIn: { direct: ['poppy:read'] },
    tools: [
      tool({
        name: 'find_books',
        description: 'Books of the library whose title has these words.',
        input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
        run: ({ title }) => ({ books: findBooks(String(title)) }),
      }),
      tool({
        name: 'my_loans',
        description: 'What the signed-in member has borrowed, and until when.',
        scope: 'poppy:read',
        run: (_input, { principal }) => ({ loans: loansOf(principal.account) }),
      }),
    ],
  })

const kept = globalThis as { company?: Company }

/**
 * The Company, made with the first request and one for the process: `next build` loads this file too, without the secrets
 * of production; `next dev` loads it anew with each change; and route handlers may each have a copy of it.
 */
export const getCompany = (): Company => {
  kept.company ??= makeCompany()
  return kept.company
}
