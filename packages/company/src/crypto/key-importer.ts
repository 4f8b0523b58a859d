import { importPublicKey, type KeyImporter } from '@poppyseed/protocol'
import { BoundedCache } from './bounded-cache.ts'

/**
 * An importer that remembers: importing a key costs as much as verifying with it. Keyed by everything in the JWK that
 * decides what is imported, so a JWK that differs in any member is looked at anew.
 */
export function createKeyImporter(limit = 10_000): KeyImporter {
  const cache = new BoundedCache<ReturnType<KeyImporter>>(limit)
  return (jwk, algorithm) => {
    const id = `${algorithm} ${JSON.stringify(jwk)}`
    const known = cache.get(id)
    if (known) return known
    const imported = importPublicKey(jwk, algorithm)
    if (id.length <= 4096) cache.set(id, imported)
    return imported
  }
}
