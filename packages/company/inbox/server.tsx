import { renderToString } from 'preact-render-to-string'
import type { InboxView } from '../src/inbox/view.ts'
import { App } from './app.tsx'

/** Draws what stands inside `<div id="inbox">`. */
export function render(view: InboxView): string {
  return renderToString(<App view={view} />)
}

/** What the page is called. */
export const title = (view: InboxView): string => view.organization
