import type { FetchDocument } from '../net/fetch-document.ts'
import type { Telemetry } from './telemetry.ts'

/** Fetches of strangers' documents, each with a span: the host and nothing more, for its address is a stranger's word. */
export function watchFetches(fetchDocument: FetchDocument, watch: Telemetry['part']): FetchDocument {
  return (url) => {
    const host = URL.parse(url)?.hostname
    const attributes = {
      'http.request.method': 'GET',
      ...(host === undefined ? {} : { 'server.address': host }),
    }
    return watch({ name: 'GET', isOutgoing: true, attributes }, () => fetchDocument(url))
  }
}
