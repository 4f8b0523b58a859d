import { addDays } from '../days.ts'
import type { SearchView } from '../room-search.ts'

type SearchFormProps = {
  readonly search: SearchView
  readonly action: string
  readonly submit: string
  /** True where the page's main step is another button. */
  readonly second?: boolean
}

/** Arrival, departure, people. It asks by GET, so an answer can be bookmarked and sent to whom you travel with. */
export function SearchForm({ search, action, submit, second }: SearchFormProps) {
  return (
    <form method="get" action={action} class="search">
      <label>
        Arrive
        <input type="date" name="from" value={search.from} min={search.today} required />
      </label>
      <label>
        Leave
        <input type="date" name="to" value={search.to} min={addDays(search.today, 1)} required />
      </label>
      <label>
        Guests
        <select name="guests">
          {[1, 2, 3, 4].map((count) => (
            <option value={String(count)} selected={count === search.guests}>
              {count}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" class={second ? 'button second' : 'button'}>
        {submit}
      </button>
      {search.error && (
        <p class="error" role="alert">
          {search.error}
        </p>
      )}
    </form>
  )
}
