import { headers } from 'next/headers'
import { memberOf } from '../library.ts'

export default async function Home() {
  const member = memberOf((await headers()).get('cookie'))
  return member ? <p>Signed in as {member.name}.</p> : <a href="/login">Sign in</a>
}
