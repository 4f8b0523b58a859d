import { FormToken, Layout, type Visit } from './layout.tsx'

type LoginProps = {
  readonly visit: Visit
  readonly token: string
  readonly next: string
  readonly email?: string | undefined
  readonly error?: string | undefined
}

/** Email and password. Whoever is signed in already may go on as they are, or sign in as somebody else. */
export function LoginPage({ visit, token, next, email, error }: LoginProps) {
  return (
    <Layout visit={visit} title="Sign in · Hotel Miramar">
      <section class="column narrow">
        <h1>Sign in</h1>
        {visit.guest ? (
          <p>
            You are signed in as {visit.guest.name}. <a href={next}>Continue</a>, or sign in as somebody else.
          </p>
        ) : (
          <p>With the email address you booked with.</p>
        )}
        <SignInForm action="/login" token={token} next={next} email={email} error={error} />
        <p class="quiet">
          Lost your password? Write to <a href="mailto:rooms@miramar.example">rooms@miramar.example</a> from the same
          address and we will sort it out by hand.
        </p>
      </section>
    </Layout>
  )
}

type SignInFormProps = Omit<LoginProps, 'visit'> & { readonly action: string }

/** The form for email address and password, with what went wrong above it. */
export function SignInForm({ action, token, next, email, error }: SignInFormProps) {
  return (
    <>
      {error && (
        <p class="error" id="error" role="alert">
          {error}
        </p>
      )}
      <form method="post" action={action} class="stack">
        <FormToken token={token} />
        <input type="hidden" name="next" value={next} />
        <label>
          Email address
          <input
            type="email"
            name="email"
            value={email}
            required
            maxlength={254}
            autocomplete="username"
            aria-describedby={error ? 'error' : undefined}
          />
        </label>
        <label>
          Password
          <input
            type="password"
            name="password"
            required
            maxlength={1024}
            autocomplete="current-password"
            aria-describedby={error ? 'error' : undefined}
          />
        </label>
        <button type="submit" class="button">
          Sign in
        </button>
      </form>
    </>
  )
}
