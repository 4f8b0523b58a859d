import { isPlain, refuseUnknown } from '../config-shapes.ts'
import { wrong } from '../configuration-error.ts'

/** 4.9: what else a sign-out does. */
export interface SignOutSettings {
  /**
   * What becomes of the Sessions that were signed in: `'continue'`, when left out, has them go on signed out, with their
   * cart or their conversation. `'end'` ends them, and the Personal Agent starts new ones, which know nothing of before. It
   * holds for every end of a sign-in that somebody wants: by the agent, by the person, by `revokeAll`, by a token that was
   * copied. A sign-in that runs out is none.
   */
  readonly sessions?: 'continue' | 'end'
}

/** @throws ConfigurationError with a sentence that says what to write */
export function checkSignOut(settings: SignOutSettings | undefined): { readonly endsSessions: boolean } {
  if (settings === undefined) return { endsSessions: false }
  if (!isPlain(settings)) throw wrong("Write signOut: { sessions: 'end' }, or leave it out.")
  refuseUnknown('signOut', settings, ['sessions'])
  const { sessions = 'continue' }: { readonly sessions?: unknown } = settings
  if (sessions !== 'continue' && sessions !== 'end')
    throw wrong("`signOut.sessions` is 'continue' (Sessions go on signed out) or 'end' (they end).")
  return { endsSessions: sessions === 'end' }
}
