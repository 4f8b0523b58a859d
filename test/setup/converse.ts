import type { WireEvent, WireEventsPage } from '@poppyseed/protocol'
import { id, type WireAgent } from './wire-agent.ts'

/** Conversations at the level of the wire: what a Personal Agent sends, and what it is told. */

const path = '/poppy/conversations'

/** A message, as an agent sends it. */
export const said = (text: string, more: Readonly<Record<string, unknown>> = {}) => ({
  id: `msg_${id()}`,
  sender: 'agent',
  text,
  ...more,
})

/** A page of events whose events are known ones. */
export type Page = Omit<WireEventsPage, 'events'> & { readonly events: readonly WireEvent[] }

/** Requests of an agent about conversations; `query` is such as `?wait=10`. */
export const converse = (agent: WireAgent, token: string) => ({
  start: (message: unknown, { query = '', parent }: { readonly query?: string; readonly parent?: string } = {}) =>
    agent.call(`${path}${query}`, token, {
      body: { message, ...(parent === undefined ? {} : { parent_conversation_id: parent }) },
    }),
  send: (conversation: string, message: unknown, query = '') =>
    agent.call(`${path}/${conversation}/messages${query}`, token, { body: { message } }),
  read: (conversation: string, query = '', headers: Record<string, string> = {}) =>
    agent.call(`${path}/${conversation}/events${query}`, token, { method: 'GET', headers }),
  handoff: (conversation: string, body: unknown = {}) => agent.call(`${path}/${conversation}/handoff`, token, { body }),
  close: (conversation: string, body: unknown = {}) => agent.call(`${path}/${conversation}/close`, token, { body }),
})

/** The page in an answer. */
export async function pageOf(answer: Response): Promise<Page> {
  if (!answer.ok) throw new Error(`no page: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Page
}

/** Where a conversation stands, in an answer. */
export async function standingOf(
  answer: Response,
): Promise<{ readonly conversation_id: string; readonly status: string; readonly responder: string }> {
  if (!answer.ok) throw new Error(`no standing: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { conversation_id: string; status: string; responder: string }
}

/** What events say, a word each: `user: text`, `agent: text`, `working/agent`, and their types. */
export const words = (events: readonly WireEvent[]): readonly string[] =>
  events.map((event) => {
    if (event.type === 'state') return `${event.status}/${event.responder}`
    if (event.type !== 'message') return event.type
    const { role, sender, text } = event.message
    return `${role === 'user' ? `user as ${sender}` : sender}: ${text ?? '-'}`
  })
