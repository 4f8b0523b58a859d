import { counted } from '../format.ts'
import { type SearchView, searchQuery } from '../room-search.ts'
import type { FreeRoom, Room } from '../tools-data.ts'
import { Bay, RoomView } from './illustrations.tsx'
import { Layout, type Visit } from './layout.tsx'
import { SearchForm } from './search-form.tsx'

type HomeProps = { readonly visit: Visit; readonly rooms: readonly Room[]; readonly search: SearchView }

/** The front door: who we are, free rooms for your days, all rooms. */
export function HomePage({ visit, rooms, search }: HomeProps) {
  const { format } = visit
  const free = search.free
  return (
    <Layout visit={visit} title="Hotel Miramar, six rooms above the harbour of Cala Gavina" hero={<Bay />}>
      <section class="column wide">
        <h1>Six rooms above the harbour</h1>
        <p class="lead">
          Hotel Miramar is a small house in Cala Gavina, in the same family since 1958. The sea is 90 steps from the
          door. We have counted them often.
        </p>
      </section>
      <section class="column wide" id="rooms" aria-labelledby="rooms-title">
        <div class="rooms-head">
          <h2 id="rooms-title">{free ? headline(free.length) : 'The rooms'}</h2>
          {free && <p>{format.stay(search.from, search.to)}</p>}
        </div>
        <SearchForm search={search} action="/#rooms" submit="See what is free" />
        {free && free.length === 0 && (
          <p>
            The house is full on those days. Try a day earlier or later, or <a href="/#rooms">see all rooms</a>.
          </p>
        )}
        <ul class="rooms">
          {(free ?? rooms).map((room) => (
            <RoomCard visit={visit} room={room} query={searchQuery(search)} />
          ))}
        </ul>
      </section>
      <section class="column wide house" aria-label="The house">
        <div>
          <h2>Breakfast</h2>
          <p>
            From eight to eleven on the terrace, under the awning if it rains. Bread from the bakery next door, tomatoes
            from the garden, coffee until you say stop. It is included.
          </p>
        </div>
        <div>
          <h2>The water</h2>
          <p>
            Two kayaks lie at the foot of the stairs; take one, leave your name on the slate. On Thursdays our neighbour
            Quim takes four people out to the lighthouse in his boat.
          </p>
        </div>
        <div>
          <h2>Getting here</h2>
          <p>
            The bus from the station stops at the quay, the last one at 22:40. If you come by car, leave it at the top
            of the village: we fetch your bags with the cart.
          </p>
        </div>
      </section>
    </Layout>
  )
}

const headline = (count: number): string => (count === 0 ? 'No room is free' : `${counted(count, 'room')} free`)

function RoomCard({ visit, room, query }: { visit: Visit; room: Room | FreeRoom; query: string }) {
  const { money } = visit.format
  return (
    <li class="room">
      <RoomView view={room.view} />
      <h3>
        <a href={`/rooms/${room.slug}${query}`}>{room.name}</a>
      </h3>
      <p>{room.summary}</p>
      <p class="facts">
        <span>Sleeps {room.sleeps}</span>
        <span>{room.size} m²</span>
        <span>
          <strong>{money(room.pricePerNight)}</strong> a night
        </span>
        {'total' in room && room.nights > 1 && (
          <span>
            {money(room.total)} for {counted(room.nights, 'night')}
          </span>
        )}
      </p>
    </li>
  )
}
