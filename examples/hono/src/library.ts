import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The site as it was before any agent came: books, members with their loans, and a signed cookie for who is signed in. */

export interface Member {
  readonly id: string
  readonly name: string
}

const members = [{ id: 'm-1', name: 'maya@example.com', password: 'sea-view-42' }]
const loans = [{ member: 'm-1', title: 'The Waves', due: '2027-03-03' }]
const books = ['The Waves', 'The Years', 'Night and Day']

export const findBooks = (title: string) => books.filter((one) => one.toLowerCase().includes(title.toLowerCase()))
export const loansOf = (member: string | null) => loans.filter((one) => one.member === member)

export function findMember(name: unknown, password: unknown): Member | null {
  return members.find((one) => one.name === name && one.password === password) ?? null
}

// A key of this process's own: whoever is signed in is signed out when it ends.
const key = randomBytes(32)
const signatureOf = (id: string) => createHmac('sha256', key).update(id).digest()

/** The cookie that says who is signed in. On a public site, served over HTTPS, it would also be `Secure`. */
export function cookieOf({ id }: Member): string {
  return `member=${id}.${signatureOf(id).toString('base64url')}; Path=/; HttpOnly; SameSite=Lax`
}

/** Who is signed in, by the request's `Cookie` header. */
export function memberOf(cookies: string | null | undefined): Member | null {
  const [, id = '', signature = ''] = /(?:^|;\s*)member=([\w-]+)\.([\w-]+)(?:;|$)/.exec(cookies ?? '') ?? []
  const [given, right] = [Buffer.from(signature, 'base64url'), signatureOf(id)]
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null
  return members.find((one) => one.id === id) ?? null
}

/** Where to go after signing in: a path of this site, and nowhere else. */
export function ownPath(next: unknown): string {
  return typeof next === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(next) ? next : '/'
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const page = (content: string) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Corner Library</title><main><h1>Corner Library</h1>${content}</main></html>`

export const homePage = (member: Member | null) =>
  page(member ? `<p>Signed in as ${escapeHtml(member.name)}.</p>` : '<p><a href="/login">Sign in</a></p>')

export const loginPage = (next: string) =>
  page(`<form method="post" action="/login"><input type="hidden" name="next" value="${escapeHtml(next)}">
<p><label>Email <input name="name" autocomplete="username"></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
<p><button>Sign in</button></p></form>`)
