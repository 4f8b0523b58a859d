import { grantTypes } from '../../token.ts'
import type { VersionCodec } from '../codec.ts'
import { readDiscovery, writeDiscovery } from './discovery.ts'

/** Draft 0.1: Sessions by the JWT bearer grant, Session Tokens with DPoP Proofs, Operations version 1. */
export const codec: VersionCodec = {
  version: '0.1',
  operationsVersion: '1',
  readDiscovery,
  writeDiscovery,
  sessionParameters: ({ assertion, sessionId, resource }) => ({
    grant_type: grantTypes.jwtBearer,
    assertion,
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(resource === undefined ? {} : { resource }),
  }),
}
