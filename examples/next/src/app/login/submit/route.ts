import { cookieOf, findMember, ownPath } from '../../../library.ts'

/** The sign-in form ends here. */
export async function POST(request: Request): Promise<Response> {
  const form = await request.formData()
  const next = ownPath(form.get('next'))
  const member = findMember(form.get('name'), form.get('password'))
  if (!member) return see(`/login?next=${encodeURIComponent(next)}`)
  return see(next, { 'set-cookie': cookieOf(member) })
}

const see = (location: string, headers: Record<string, string> = {}) =>
  new Response(null, { status: 303, headers: { location, ...headers } })
