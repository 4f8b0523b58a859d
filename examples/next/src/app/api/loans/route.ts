import { getCompany } from '../../../company.ts'
import { loansOf, memberOf } from '../../../library.ts'

/** An API of the site's own: its pages come with its cookie, agents with their token. */
export async function GET(request: Request): Promise<Response> {
  const member = memberOf(request.headers.get('cookie'))
  if (member) return Response.json(loansOf(member.id))
  const caller = await getCompany().authenticate(request, { scope: 'poppy:read' })
  return caller instanceof Response ? caller : Response.json(loansOf(caller.account))
}
