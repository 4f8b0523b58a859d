import type { Staff } from 'poppyseed'
import { createPerson } from '../../examples/hotel/src/person.ts'
import type { Hotel } from '../../examples/hotel/src/server.ts'
import { atDesk, type Desk } from './inbox.ts'

/** Somebody of the hotel's staff, signed in at the hotel's own door. */
export interface HotelStaff {
  readonly member: Staff
  /** What the browser holds. */
  readonly cookie: { readonly name: string; readonly value: string }
  /** The browser, at the inbox. */
  readonly desk: Desk
  readonly signOut: () => Promise<void>
}

/** @param who 1 or 2: `desk1@miramar.example`, `desk2@miramar.example` */
export async function signInAtHotel(hotel: Pick<Hotel, 'origin'>, who: 1 | 2): Promise<HotelStaff> {
  const { origin } = hotel
  let cookie = { name: '', value: '' }
  const person = createPerson(async (request) => {
    const answer = await fetch(request)
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=')
      if (name.endsWith('miramar_staff')) cookie = { name, value }
    }
    return answer
  })
  const login = await person.open(`${origin}/poppy/inbox`)
  await person.submit(login, { email: `desk${who}@miramar.example`, password: `front-desk-${who}` })
  const headers = { cookie: `${cookie.name}=${cookie.value}` }
  const desk = atDesk({ send: (request) => fetch(request), origin }, '', { headers })
  const { id, name } = (await desk.look()).view.me
  return {
    member: { id, name },
    cookie,
    desk,
    signOut: async () => void (await person.submit(await person.open(`${origin}/staff/desk`), { form_token: [] })),
  }
}
