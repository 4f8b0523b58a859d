import type { InboxView, InboxWordTexts } from './view.ts'

/** The inbox's application, as `build-inbox.ts` made it: loaded with the first request for the inbox, by nothing else. */

/** A file for browsers. Its name changes with what is in it. */
export interface Asset {
  readonly name: string
  readonly text: string
  readonly type: string
}

/** What draws the inbox on the server, and what makes it live in a browser. */
export interface InboxApp {
  /** Draws what stands inside `<div id="inbox">`. */
  readonly render: (view: InboxView, words: InboxWordTexts) => string
  /** The page's title. */
  readonly title: (view: InboxView, words: InboxWordTexts) => string
  readonly script: Asset
  readonly styles: Asset
}

/** Loads it. */
export async function loadInboxApp(): Promise<InboxApp> {
  const [{ render, title }, assets] = await Promise.all([import('#inbox-app/render'), import('#inbox-app/assets')])
  return {
    render,
    title,
    script: { name: assets.scriptName, text: assets.script, type: 'text/javascript; charset=utf-8' },
    styles: { name: assets.stylesName, text: assets.styles, type: 'text/css; charset=utf-8' },
  }
}
