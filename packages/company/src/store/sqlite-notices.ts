import { createListeners, type Notices } from './notices.ts'

/** Between those who have one SQLite file open: in this process they are told, and other processes are noticed. */

/** Milliseconds between two looks at whether another process has written. */
const interval = 250

/**
 * @param version a number that is another one once another connection has written: `pragma data_version`, which reads a
 * counter in memory
 */
export function createSqliteNotices(version: () => unknown): Notices & { readonly end: () => void } {
  let timer: NodeJS.Timeout | undefined
  let seen: unknown
  let hasEnded = false
  const listeners = createListeners((isAnybody) => {
    clearInterval(timer)
    if (!isAnybody || hasEnded) return
    seen = version()
    timer = setInterval(look, interval)
    timer.unref()
  })
  function look(): void {
    const current = version()
    if (current === seen) return
    seen = current
    listeners.stir()
  }
  return {
    async send(topic, texts) {
      for (const text of texts) listeners.tell(topic, text)
    },
    listen: listeners.add,
    end() {
      hasEnded = true
      clearInterval(timer)
    },
  }
}
