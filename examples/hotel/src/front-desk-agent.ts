import type { CompanyAgent } from 'poppyseed'
import type { CompanyAgentOptions } from 'poppyseed/ai'
import { scriptedDesk } from './front-desk.ts'
import type { HotelDatabase } from './sql.ts'
import { allRooms } from './tools-data.ts'

/** Where it is looked up whether there is a key: `process.env`. */
export type DeskEnvironment = Readonly<Record<string, string | undefined>>

/** A model of the `ai` package, or the id of one at its gateway. */
export type DeskModel = CompanyAgentOptions['model']

/** The front desk that answers: which, and in words for whoever starts the hotel. */
export type FrontDesk = { readonly agent: CompanyAgent; readonly words: string }

const standardModel = 'openai/gpt-5-mini'

/** What a model is told of the hotel; rules that hold anywhere are the library's. */
const instructions = `You work at the front desk of Hotel Miramar, a small hotel by the sea with six rooms.
Rooms are ready from 15:00. Guests may come as late as they like, at no cost: until 23:00 somebody is at the desk, after that they ring the bell beside the blue door. The last bus from the station is at 22:40. Breakfast, from 8:00 to 11:00 on the terrace, is included.
Note a time of arrival on a booking with add_booking_note. Bookings can be cancelled until the day before arrival; a deposit that was paid is kept.
A wedding or a celebration is talked over with the guests themselves: ask for them. Whoever complains gets a person.`

/**
 * Takes the model that is handed in. Else one of the gateway of the `ai` package, where the environment has a key for it:
 * HOTEL_MODEL says which. Else the desk works by rules. The key is read by that package alone, and goes nowhere else.
 */
export async function openFrontDesk(
  database: HotelDatabase,
  now: () => number,
  environment: DeskEnvironment,
  model: DeskModel | undefined = modelOf(environment),
): Promise<FrontDesk> {
  if (model === undefined)
    return { agent: scriptedDesk(() => allRooms(database), now), words: 'rules; with AI_GATEWAY_API_KEY, a model' }
  // Loaded where it is wanted: whoever has no model needs no such package.
  const { companyAgent } = await import('poppyseed/ai')
  const name = typeof model === 'string' ? model : model.modelId
  return { agent: companyAgent({ model, instructions }), words: `the model ${name}` }
}

function modelOf({ AI_GATEWAY_API_KEY: key = '', HOTEL_MODEL: named }: DeskEnvironment): string | undefined {
  return key === '' ? undefined : named || standardModel
}
