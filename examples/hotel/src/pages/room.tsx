import { counted } from '../format.ts'
import { type SearchView, searchQuery } from '../room-search.ts'
import type { FreeRoom, Room } from '../tools-data.ts'
import { may } from '../visitor.ts'
import { RoomView, viewName } from './illustrations.tsx'
import { FormToken, Layout, type Visit } from './layout.tsx'
import { SearchForm } from './search-form.tsx'

type RoomProps = { readonly visit: Visit; readonly room: Room; readonly search: SearchView }

/** One room: what it is like, what it costs, whether it is free on your days. */
export function RoomPage({ visit, room, search }: RoomProps) {
  const { money } = visit.format
  const found = search.free?.find((free) => free.slug === room.slug)
  return (
    <Layout visit={visit} title={`${room.name} · Hotel Miramar`}>
      <article class="column wide split">
        <div class="split-picture">
          <RoomView view={room.view} />
        </div>
        <div class="split-text">
          <p class="back">
            <a href={`/${searchQuery(search)}#rooms`}>All rooms</a>
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
          <h2 id="free">{found ? 'It is free' : 'Is it free?'}</h2>
          <SearchForm search={search} action={`/rooms/${room.slug}#free`} submit="Check" second={found !== undefined} />
          {found && <BookForm visit={visit} room={found} search={search} />}
          {search.free && !found && (
            <p class="answer">
              {search.guests > room.sleeps
                ? `${room.name} sleeps ${room.sleeps}.`
                : `${room.name} is taken for ${visit.format.stay(search.from, search.to)}.`}{' '}
              Change the days, or look at the other rooms.
            </p>
          )}
        </div>
      </article>
    </Layout>
  )
}

type BookFormProps = { readonly visit: Visit; readonly room: FreeRoom; readonly search: SearchView }

/** The last step, and what it costs, in one place. Signed out: to the sign-in and back to the same days. */
function BookForm({ visit, room, search }: BookFormProps) {
  const { money, stay } = visit.format
  const back = `/rooms/${room.slug}${searchQuery(search)}`
  return (
    <div class="answer">
      <p>
        {room.name} for {counted(search.guests, 'guest')}, {stay(search.from, search.to)}:{' '}
        <strong>{money(room.total)}</strong> for {counted(room.nights, 'night')}, breakfast included. You pay when you
        leave.
      </p>
      {visit.visitor.kind !== 'person' ? (
        <p class="quiet">On this page guests book for themselves, in their own browser.</p>
      ) : may(visit.visitor, 'in person') ? (
        <form method="post" action={`/rooms/${room.slug}/book`} class="stack">
          <FormToken token={visit.formToken} />
          <input type="hidden" name="from" value={search.from} />
          <input type="hidden" name="to" value={search.to} />
          <input type="hidden" name="guests" value={String(search.guests)} />
          <button type="submit" class="button">
            Book {room.name} for {money(room.total)}
          </button>
        </form>
      ) : (
        <a class="button" href={`/login?next=${encodeURIComponent(back)}`}>
          Sign in to book
        </a>
      )}
    </div>
  )
}
