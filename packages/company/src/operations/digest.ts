import { sha256 } from '../crypto/hash.ts'
import type { RevisionsTable } from '../store/tables.ts'

/** What a revision says, as one hash: what is performed is what was confirmed, to the letter. */

/** SHA-256 in base64url of everything that a revision fixes. */
export function digestOf(revision: Omit<RevisionsTable, 'company' | 'digest' | 'created_at'>): string {
  const { operation_id, revision: number, summary, terms, input, data, approval, expires_at } = revision
  return sha256(JSON.stringify([operation_id, number, summary, terms, input, data, approval, expires_at]))
}
