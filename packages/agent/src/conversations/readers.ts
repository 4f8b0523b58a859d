import { AgentError } from '../errors.ts'

/**
 * Who reads which conversation in this process (7.5). What is read counts as handled for whoever reads it, so two readers would
 * give the owner the same twice, or each a part of it: there is one at a time.
 */
export interface Readers {
  /**
   * Takes a conversation for reading. One whose signal has stopped it reads no more and is in nobody's way.
   * @returns what makes room again
   * @throws AgentError `invalid_input` while another one reads
   */
  readonly take: (key: string, signal: AbortSignal | undefined) => () => void
}

/** Keeps who reads what. */
export function createReaders(): Readers {
  const reading = new Map<string, { readonly signal: AbortSignal | undefined }>()
  return {
    take(key, signal) {
      const other = reading.get(key)
      if (other && other.signal?.aborted !== true) {
        throw new AgentError(
          'invalid_input',
          'This conversation is already being read in this process: send, and the answer comes there, or end that first.',
        )
      }
      const mine = { signal }
      reading.set(key, mine)
      return () => {
        if (reading.get(key) === mine) reading.delete(key)
      }
    },
  }
}
