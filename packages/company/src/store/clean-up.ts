import type { Scope } from './database.ts'
export async function cleanUp(_scope: Scope, _bite: { readonly now: number; readonly limit: number }): Promise<number> {
  return 0
}
