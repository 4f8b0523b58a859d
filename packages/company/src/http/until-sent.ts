import { sourceOf } from './event-stream.ts'

/** Answers that are still being made when they are handed over: event streams. */

/**
 * Watches a response until it is sent whole, or given up by whoever reads it. Only an event stream is made while it is
 * sent; any other is whole when it is handed over, and comes back as it is.
 */
export function untilSent(response: Response): { readonly response: Response; readonly sent: Promise<void> | null } {
  const source = sourceOf(response)
  if (source !== undefined) return { response, sent: source.over }
  // `body` is touched only where it has to be: listeners send a whole answer at once until somebody asks for its stream.
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const body = isStream ? response.body : null
  if (body === null) return { response, sent: null }
  const { promise: sent, resolve: end } = Promise.withResolvers<void>()
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
        end()
      } catch (error) {
        controller.error(error)
        end()
      }
    },
    async cancel(reason) {
      end()
      await reader.cancel(reason)
    },
  })
  return { response: new Response(watched, response), sent }
}
