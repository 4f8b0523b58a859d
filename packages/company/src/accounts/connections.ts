import { agentNames } from '../agents/store.ts'
import { formLifetime } from '../sign-in/form-lifetime.ts'
import type { Scope } from '../store/database.ts'
import type { Wordings } from '../words/wording.ts'
import { accessOf } from './access.ts'
import { type ConnectedAgent, describeSignIn, mergeSignIns } from './connected-agent.ts'
import { type ErasedPerson, erasePerson, exportPerson, type PersonData } from './person.ts'
import { endForms, type Person } from './person-store.ts'
import { grantsOf, revokeGrantsOf, takeScopeAway } from './store.ts'

/** Section 4.9: what a person sees of the agents that they let in, and how they end it, for a site that draws its own page. */

/** What a company’s account page needs (4.9): who is connected, and how it ends. */
export interface Accounts {
  /**
   * The agents that have access to an account, the one that was let in last first: one entry for each agent, with all its
   * sign-ins taken together. `locale` is the language of the rights' texts: a tag such as `'de'`, or a whole
   * `Accept-Language` header; left out, the company's `language`.
   */
  readonly connectedAgents: (
    account: string,
    options?: { readonly locale?: string | null | undefined },
  ) => Promise<readonly ConnectedAgent[]>
  /**
   * Ends an agent's access to an account: its Account Tokens are revoked and its Sessions signed out, at once (4.9).
   * @returns how many sign-ins were ended
   */
  readonly disconnect: (account: string, clientId: string) => Promise<number>
  /**
   * Takes one right of an agent away, at once, from every sign-in and from every token that it has (4.4). Whoever has no
   * right left is disconnected.
   * @returns whether it had that right
   */
  readonly takeAway: (account: string, clientId: string, scope: string) => Promise<boolean>
  /**
   * Ends the access of every agent to an account, at once: for a changed password or a lost device. Account Tokens are
   * revoked, Sessions signed out, codes that weren't used yet are spent; consent pages that are open now, and credentials
   * that are being checked (4.7), buy nothing.
   * End the site's own sessions as well: whoever is still signed in there can let an agent in again.
   * @returns how many sign-ins were ended
   */
  readonly revokeAll: (account: string) => Promise<number>
  /**
   * Everything that the store holds of a person, with nothing secret in it. By the company's own id for the account, or,
   * for a User who never signed in, by `{ clientId, userId }`.
   */
  readonly exportPerson: (person: Person) => Promise<PersonData>
  /**
   * Deletes all that {@link Accounts.exportPerson} shows, in one transaction. Their agents are signed out at once, and
   * the Sessions are gone, so none of them can be signed in to another account (4.4).
   */
  readonly erasePerson: (person: Person) => Promise<ErasedPerson>
}

/** What comes from a form may be no text that any agent or scope has; PostgreSQL takes no NUL at all. */
function canBeKept(text: string): boolean {
  return !/[\p{Cc}\p{Cs}]/u.test(text)
}

/** Makes {@link Accounts}. */
export function createAccounts(options: {
  readonly scope: () => Promise<Scope>
  readonly now: () => number
  readonly wordings: Wordings
  /** 4.9: whether a sign-out ends the Sessions as well. */
  readonly endsSessions: boolean
  /** Has whoever waits for a conversation told that it is gone. */
  readonly told?: (conversationId: string) => void
  /** Has the company's people told, after the commit, that what Sessions may do has changed. */
  readonly rightsChanged?: () => void
}): Accounts {
  const signOut = () => ({ now: options.now(), endsSessions: options.endsSessions })

  /**
   * What a person does to an account's agents comes one after the other, on all instances: two clicks never wait for each
   * other's rows, and credentials that are being checked (4.7) come before or after.
   */
  async function alone<T>(account: string, act: (scope: Scope) => Promise<T>): Promise<T> {
    const scope = await options.scope()
    const done = await scope.db.transaction(async () => {
      await endForms(scope, { account, until: 0 })
      return act(scope)
    })
    options.rightsChanged?.()
    return done
  }

  return {
    async connectedAgents(account, { locale } = {}) {
      const sentenceOf = options.wordings.scopes(locale)
      const scope = await options.scope()
      const grants = await grantsOf(scope, { account, now: options.now() })
      const names = await agentNames(
        scope,
        grants.map(({ clientId }) => clientId),
      )
      return mergeSignIns(
        grants.map((grant) => ({
          ...describeSignIn(grant, names.get(grant.clientId), sentenceOf),
          connectedAt: grant.createdAt,
          lastUsedAt: grant.lastUsedAt,
        })),
      )
    },
    async disconnect(account, clientId) {
      if (!canBeKept(clientId)) return 0
      return alone(account, (scope) => revokeGrantsOf(scope, { account, clientId, ...signOut() }))
    },
    async takeAway(account, clientId, name) {
      if (!canBeKept(clientId) || !canBeKept(name)) return false
      return alone(account, async (scope) => {
        const how = signOut()
        const isTaken = await takeScopeAway(scope, { account, clientId, name, ...how })
        // 4.7: credentials that are being checked would bring it back
        if (isTaken) await endForms(scope, { account: accessOf(account, clientId), until: how.now + formLifetime })
        return isTaken
      })
    },
    async revokeAll(account) {
      if (typeof account !== 'string' || account === '') throw new TypeError('revokeAll takes the id of an account.')
      const scope = await options.scope()
      const how = signOut()
      const revoked = await scope.db.transaction(async () => {
        await endForms(scope, { account, until: how.now + formLifetime })
        return revokeGrantsOf(scope, { account, ...how })
      })
      options.rightsChanged?.()
      return revoked
    },
    exportPerson: async (person) => exportPerson(await options.scope(), person, options),
    async erasePerson(person) {
      const erased = await erasePerson(await options.scope(), person, options)
      options.rightsChanged?.()
      return erased
    },
  }
}
