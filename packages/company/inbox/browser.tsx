import './styles.css'
import { hydrate } from 'preact'
import type { InboxView } from '../src/inbox/view.ts'
import { App } from './app.tsx'

/** Makes live what the server drew: the same view, from the page itself. */
const root = document.getElementById('inbox')
const state = document.getElementById('inbox-view')?.textContent
if (root !== null && state) hydrate(<App view={JSON.parse(state) as InboxView} />, root)
