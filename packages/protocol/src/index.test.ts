import { describe, expect, it } from 'vitest'
import * as protocol from './index.ts'

describe('the public surface of the package', () => {
  it('is what the two sides build on: a name that goes is a break', () => {
    expect(Object.keys(protocol)).toEqual(
      expect.arrayContaining([
        ...[
          'DocumentError',
          'JsonError',
          'PoppyError',
          'base64url',
          'checkClientAssertion',
          'checkEdition',
          'checkProof',
        ],
        ...['checkSessionAssertion', 'clientAssertionType', 'codecFor', 'coversScopes', 'currentCodec', 'errorRow'],
        ...['errorResponseSchema', 'errorTable', 'findChallenge', 'formatChallenge', 'formatScope', 'grantTypes'],
        ...[
          'hasValidSignature',
          'importPublicKey',
          'intersectScopes',
          'isClientId',
          'isErrorCode',
          'isId',
          'isJsonObject',
        ],
        ...['isLoopbackHost', 'isPublicKeyFor', 'isScope', 'isServiceUrl', 'makeClientAssertion'],
        ...[
          'makeId',
          'makeProof',
          'makeSessionAssertion',
          'oauthMetadataSchema',
          'oauthMetadataUrl',
          'parseAuthorization',
        ],
        ...['parseChallenges', 'parseScope', 'parseStrictJson', 'protocolScopes', 'readClientMetadata', 'readJwt'],
        ...[
          'readOAuthMetadata',
          'readParameters',
          'readText',
          'readTime',
          'resourceMetadataSchema',
          'resourceMetadataUrl',
        ],
        ...['signatureAlgorithms', 'tokenResponseSchema'],
      ]),
    )
  })
})
