/**
 * What `company.fetch` rejects with where a fault takes the answer away: all that the request does has happened, and nobody
 * is told. Whoever holds the connection closes it without a byte; `toNodeHandler` does.
 */
export class AnswerDropped extends Error {
  override readonly name = 'AnswerDropped'
  constructor() {
    super('The answer was dropped by `faults`, as it was told to.')
  }
}
