import type { CompanyAgent } from 'poppyseed'
import { scriptedDesk } from './front-desk.ts'
import type { HotelDatabase } from './sql.ts'
import { allRooms } from './tools-data.ts'

/** Where it is looked up whether there is a key: `process.env`. */
export type DeskEnvironment = Readonly<Record<string, string | undefined>>

/** The front desk that answers: which, and in words for whoever starts the hotel. */
export type FrontDesk = { readonly agent: CompanyAgent; readonly words: string }

const standardModel = 'openai/gpt-5-mini'

/** What a model is told of the hotel; rules that hold anywhere are the library's. */
const instructions = `You work at the front desk of Hotel Miramar, a small hotel by the sea with six rooms.
Rooms are ready from 15:00. Guests may come as late as they like, at no cost: until 23:00 somebody is at the desk, after that they ring the bell beside the blue door. The last bus from the station is at 22:40. Breakfast, from 8:00 to 11:00 on the terrace, is included.
Note a time of arrival on a booking with add_booking_note. Bookings can be cancelled until the day before arrival; a deposit that was paid is kept.
A wedding or a celebration is talked over with the guests themselves: ask for them. Whoever complains gets a person.`

/**
 * Takes a model where the environment has a key for the gateway of the `ai` package: HOTEL_MODEL says which. Else the desk
 * works by rules. The key is read by that package alone, and goes nowhere else.
 */
export async function openFrontDesk(
  database: HotelDatabase,
  now: () => number,
  environment: DeskEnvironment,
): Promise<FrontDesk> {
  if ((environment.AI_GATEWAY_API_KEY ?? '') === '')
    return { agent: scriptedDesk(() => allRooms(database), now), words: 'rules; with AI_GATEWAY_API_KEY, a model' }
  // Loaded where it is wanted: whoever has no key needs no such package.
  const { companyAgent } = await import('poppyseed/ai')
  const model = environment.HOTEL_MODEL || standardModel
  return { agent: companyAgent({ model, instructions }), words: `the model ${model}` }
}
