/** `poppyseed/node`: what a deployment on Node may want to set itself. */
export {
  createDocumentFetcher,
  type DocumentFetcher,
  type DocumentFetcherOptions,
  type FetchDocument,
  type FetchedDocument,
} from './net/fetch-document.ts'
export { FetchRefused } from './net/fetch-refused.ts'
export { createDnsLookup, type Lookup } from './net/resolve.ts'
