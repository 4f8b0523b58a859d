import { counted } from '../format.ts'
import type { SearchView } from '../room-search.ts'
import type { Room } from '../tools-data.ts'
import { RoomView, viewName } from './illustrations.tsx'
import { Layout, type Visit } from './layout.tsx'
import { SearchForm } from './search-form.tsx'

type RoomProps = { readonly visit: Visit; readonly room: Room; readonly search: SearchView }

/** One room: what it is like, what it costs, whether it is free on your days. */
export function RoomPage({ visit, room, search }: RoomProps) {
  const { money } = visit.format
  return (
    <Layout visit={visit} title={`${room.name} · Hotel Miramar`}>
      <article class="column wide split">
        <div class="split-picture">
          <RoomView view={room.view} />
        </div>
        <div class="split-text">
          <p class="back">
            <a href="/#rooms">All rooms</a>
          </p>
          <h1>{room.name}</h1>
          <p class="lead">{room.summary}</p>
          <p>{room.description}</p>
          <dl class="details">
            <div>
              <dt>View</dt>
              <dd>{viewName(room.view)}</dd>
            </div>
            <div>
              <dt>Beds</dt>
              <dd>{room.beds}</dd>
            </div>
            <div>
              <dt>Size</dt>
              <dd>
                {room.size} m², sleeps {room.sleeps}
              </dd>
            </div>
            <div>
              <dt>Price</dt>
              <dd>{money(room.pricePerNight)} a night, with breakfast</dd>
            </div>
          </dl>
          <h2>Is it free?</h2>
          <SearchForm search={search} action={`/rooms/${room.slug}`} submit="Check" />
          <Answer visit={visit} room={room} search={search} />
        </div>
      </article>
    </Layout>
  )
}

function Answer({ visit, room, search }: RoomProps) {
  if (!search.free) return null
  const found = search.free.find((free) => free.slug === room.slug)
  const stay = visit.format.stay(search.from, search.to)
  if (!found) {
    const reason = search.guests > room.sleeps ? `${room.name} sleeps ${room.sleeps}.` : `It is taken for ${stay}.`
    return <p class="answer">{reason} Change the days, or look at the other rooms.</p>
  }
  return (
    <p class="answer">
      Yes, for {stay}: <strong>{visit.format.money(found.total)}</strong> for {counted(found.nights, 'night')}. To book,
      write to <a href="mailto:rooms@miramar.example">rooms@miramar.example</a>.
    </p>
  )
}
