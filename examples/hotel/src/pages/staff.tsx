import type { StaffMember } from '../sessions.ts'
import { FormToken, Layout, type Visit } from './layout.tsx'
import { SignInForm } from './login.tsx'

type StaffLoginProps = {
  readonly visit: Visit
  readonly token: string
  readonly next: string
  readonly staff: StaffMember | null
  readonly email?: string
  readonly error?: string
}

/** Where people who work here sign in: another door than the guests', and another key. */
export function StaffLoginPage({ visit, token, next, staff, email, error }: StaffLoginProps) {
  return (
    <Layout visit={visit} title="Staff sign-in · Hotel Miramar">
      <section class="column narrow">
        <h1>Staff sign-in</h1>
        {staff ? (
          <p>
            You are signed in as {staff.name}. <a href={next}>Continue</a>, or sign in as somebody else. To sign out, go
            to <a href="/staff/desk">the front desk</a>.
          </p>
        ) : (
          <p>
            For those who work here. Guests sign in <a href="/login">over there</a>.
          </p>
        )}
        <SignInForm action="/staff/login" token={token} next={next} email={email} error={error} />
      </section>
    </Layout>
  )
}

type StaffPageProps = { readonly visit: Visit; readonly staff: StaffMember; readonly token: string }

/** Who is at the desk, the way to the inbox, and the way out. */
export function StaffPage({ visit, staff, token }: StaffPageProps) {
  return (
    <Layout visit={visit} title="The front desk · Hotel Miramar">
      <section class="column narrow">
        <h1>The front desk</h1>
        <p>
          You are {staff.name} ({staff.email}).
        </p>
        <p>
          <a class="button" href="/poppy/inbox">
            To the inbox
          </a>
        </p>
        <form method="post" action="/staff/logout">
          <FormToken token={token} />
          <button type="submit" class="button second">
            Sign out
          </button>
        </form>
        <p class="quiet">Conversations that you have go back to the queue when you sign out.</p>
      </section>
    </Layout>
  )
}
