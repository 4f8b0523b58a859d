import { ownPath } from '../../library.ts'

interface Props {
  readonly searchParams: Promise<{ readonly next?: string | readonly string[] }>
}

export default async function Login({ searchParams }: Props) {
  return (
    <form method="post" action="/login/submit">
      <input type="hidden" name="next" value={ownPath((await searchParams).next)} />
      <p>
        <label>
          Email <input name="name" autoComplete="username" />
        </label>
      </p>
      <p>
        <label>
          Password <input name="password" type="password" autoComplete="current-password" />
        </label>
      </p>
      <button type="submit">Sign in</button>
    </form>
  )
}
