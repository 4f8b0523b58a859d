import type { InboxView, InboxWordTexts } from '../view.ts'

/** Draws what stands inside `<div id="inbox">`. Built of `inbox/server.tsx` by `build-inbox.ts`. */
export declare function render(view: InboxView, words: InboxWordTexts): string
/** What the page is called. */
export declare function title(view: InboxView, words: InboxWordTexts): string
