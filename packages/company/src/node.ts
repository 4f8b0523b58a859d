/** `poppyseed/node`: a Company in a site on Node's `http`, Express or Connect; and what a deployment may set itself. */
export {
  createDocumentFetcher,
  type DocumentFetcher,
  type DocumentFetcherOptions,
  type FetchDocument,
  type FetchedDocument,
} from './net/fetch-document.ts'
export { FetchRefused } from './net/fetch-refused.ts'
export { createDnsLookup, type Lookup } from './net/resolve.ts'
export { type Mountable, type NodeHandler, toNodeHandler } from './node/handler.ts'
export { type Closable, type SignalOptions, type StopOptions, stopOnSignals, stopServer } from './node/stop.ts'
export { nodeRequestOf, noteNodeRequest, sendResponse, toWebRequest } from './node/web-request.ts'
