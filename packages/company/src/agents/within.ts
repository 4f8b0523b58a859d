/**
 * Waits for the company's own code, and no longer than `timeout` milliseconds; then its signal aborts and what it says
 * later is not heard.
 * @throws DOMException `TimeoutError`; otherwise what it threw
 */
export async function within<T>(timeout: number, run: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
  const stop = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new DOMException('It took too long.', 'TimeoutError')
    stop.abort(error)
    reject(error)
  }, timeout)
  try {
    return await Promise.race([late, (async () => await run(stop.signal))()])
  } finally {
    clearTimeout(timer)
  }
}
