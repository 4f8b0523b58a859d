/** Why a document wasn't had. Private: for logs, never for whoever named the URL. */
export type FetchFault =
  | 'bad_url'
  | 'not_https'
  | 'literal_address'
  | 'forbidden_address'
  | 'name_not_found'
  | 'unreachable'
  | 'timeout'
  | 'bad_status'
  | 'bad_encoding'
  | 'not_json'
  | 'too_large'
  | 'closed'

/**
 * A stranger's document could not be had. One message for all faults, and nothing of the answer in it: otherwise
 * whoever names URLs could use this server to look around in its network.
 */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused'
  /** For this side's log only. */
  readonly reason: FetchFault

  constructor(reason: FetchFault) {
    super('The document could not be fetched.')
    this.reason = reason
  }
}
