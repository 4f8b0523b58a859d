import { isServiceUrl } from '@poppyseed/protocol'
import type { Database, Scope } from '../store/database.ts'
import { CommandError } from './command-error.ts'
import { clean, shellWord } from './terminal.ts'

/** Which Company of a store a command is about: the one that is named, or the only one that there is. */

/** @throws CommandError `which_company`, `unknown_company`, `invalid_input` */
export async function findCompany(db: Database, named: string | undefined): Promise<Scope> {
  const there = await companiesOf(db)
  const list = there.map((company) => `\n  ${clean(company)}`).join('')
  if (named === undefined) {
    const [only, ...more] = there
    if (only === undefined)
      throw new CommandError(
        'which_company',
        'No Personal Agent has come to a Company of this store yet, so it has to be named.',
        'Try: --company <issuer>, the `auth.issuer` of its poppy.json, such as https://miramar.example',
      )
    if (more.length > 0)
      throw new CommandError(
        'which_company',
        `There are ${there.length} Companies in this store:${list}`,
        `Try: --company ${shellWord(only)}`,
      )
    return { db, company: only }
  }
  if (there.includes(named)) return { db, company: named }
  // A name with a mistake in it would block an agent at nobody's.
  if (there.length > 0)
    throw new CommandError(
      'unknown_company',
      `No Personal Agent has come to ${clean(named)}. In this store there ${there.length === 1 ? 'is' : 'are'}:${list}`,
      `Try: --company ${shellWord(there[0] ?? '')}`,
    )
  if (!isServiceUrl(named, true))
    throw new CommandError('invalid_input', 'A Company is named by its issuer, such as https://miramar.example.')
  return { db, company: named }
}

/** The Companies that agents came to, or that have blocked one. The one question that is about no single Company. */
async function companiesOf({ query }: Database): Promise<readonly string[]> {
  const rows = await query
    .selectFrom('poppy_agents')
    .select('company')
    .union(query.selectFrom('poppy_blocked_agents').select('company'))
    .execute()
  return rows.map(({ company }) => company).sort()
}
