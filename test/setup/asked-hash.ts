import { createKeyedHash } from '../../packages/company/src/crypto/keyed-hash.ts'
import { deriveKeyring } from '../../packages/company/src/crypto/keyring.ts'

/** What compares what comes again with a key, where a test puts parts together itself. */
export const askedHash = createKeyedHash(deriveKeyring(['a secret of a test'], 'asked'))
