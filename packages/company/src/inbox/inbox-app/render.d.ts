import type { InboxView } from '../view.ts'

/** Draws what stands inside `<div id="inbox">`. Built of `inbox/server.tsx` by `build-inbox.ts`. */
export declare function render(view: InboxView): string
/** What the page is called. */
export declare function title(view: InboxView): string
