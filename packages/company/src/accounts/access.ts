/**
 * What stands for one agent's access to an account, where a mark is about that alone and not about the account (4.9): for
 * `endForms` and `wasEndedSince`. Pure.
 */
export function accessOf(account: string, clientId: string): string {
  return JSON.stringify([account, clientId])
}
