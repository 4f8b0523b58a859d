import { describe, expect, it } from 'vitest'
import { caller, conversationParts, startConversation } from '../../../../test/setup/conversation-parts.ts'
import { now, sessionRow } from '../../../../test/setup/rows.ts'
import { stores } from '../../../../test/setup/stores.ts'
import { createChanges } from '../changes/changes.ts'
import { type Sink, sourceOf } from '../http/event-stream.ts'
import { insertSession } from '../sessions/store.ts'
import type { Database } from '../store/database.ts'
import { withConversation } from './ledger.ts'
import { checkStreams } from './stream-settings.ts'
import { createStreams } from './streaming.ts'

// What is told in pieces while the sign-in that it is told to is looked at (4.9, 7.6).

describe.each(stores)('A stream on $name', ({ missing, fresh }) => {
  it.skipIf(missing !== null)(
    'tells no piece that came after the look at whether it may be told: it may be of an account that was used meanwhile',
    async () => {
      const db = await (await fresh()).open()
      const scope = { db, company: 'https://miramar.example' }
      await insertSession(scope, sessionRow())
      const { parts } = conversationParts(scope)
      const row = await startConversation(scope)

      // A slow database: its answer is of the moment that it was asked.
      let gate = Promise.resolve()
      let asked = Promise.withResolvers<void>()
      const slow: Database = Object.create(db, {
        run: {
          async value(...question: Parameters<Database['run']>) {
            const rows = await db.run(...question)
            asked.resolve()
            await gate
            return rows
          },
        },
      })
      const changes = createChanges()
      const settings = checkStreams(true)
      if (settings === null) throw new Error('there are no streams')
      const streams = createStreams({
        ...parts,
        scope: async () => ({ ...scope, db: slow }),
        changes,
        settings,
        ending: new AbortController().signal,
      })
      const response = streams.open(row, row.last_event, { ...caller(), expiresAt: now / 1000 + 3600 })
      const source = sourceOf(response)
      let raw = ''
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const write = (text: string) => {
        raw += text
      }
      const sink: Sink = { isFull: false, write, end, destroy: end }
      source?.begin(sink)
      await asked.promise

      const { promise, resolve: answer } = Promise.withResolvers<void>()
      asked = Promise.withResolvers()
      gate = promise
      changes.piece(row.id, { messageId: 'msg_reply', from: 0, text: 'One moment. ' })
      await asked.promise
      await withConversation(parts, row.id, () => ({ set: { account: 'acc-maya' }, events: [] }))
      changes.piece(row.id, { messageId: 'msg_reply', from: 12, text: 'It is booking 4711.' })
      answer()
      await ended
      expect(raw).toContain('One moment.')
      expect(raw).not.toContain('4711')
    },
  )

  it.skipIf(missing !== null)(
    'tells what came before a piece to whoever has heard nothing of the message, and to nobody else',
    async () => {
      const scope = { db: await (await fresh()).open(), company: 'https://miramar.example' }
      await insertSession(scope, sessionRow())
      const { parts } = conversationParts(scope)
      const row = await startConversation(scope)
      const settings = checkStreams(true)
      if (settings === null) throw new Error('there are no streams')
      const ending = new AbortController()
      const streams = createStreams({ ...parts, settings, ending: ending.signal })
      const source = sourceOf(streams.open(row, row.last_event, { ...caller(), expiresAt: now / 1000 + 3600 }))
      let raw = ''
      let hasCome = Promise.withResolvers<void>()
      const write = (text: string) => {
        raw += text
        hasCome.resolve()
      }
      const sink = { isFull: false, write, end() {}, destroy() {} }
      source?.begin(sink)
      const piece = (messageId: string, from: number, text: string, before?: string) =>
        parts.changes.piece(row.id, { messageId, from, text, ...(before === undefined ? {} : { before }) })
      const told = async (last: string) => {
        while (!raw.includes(last)) {
          hasCome = Promise.withResolvers()
          await hasCome.promise
        }
        return [...raw.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text)
      }

      piece('msg_1', 4, 'two ')
      piece('msg_1', 8, 'three ', 'of another length')
      // Nothing of it was told while its reader took nothing, so it may begin later.
      sink.isFull = true
      piece('msg_1', 14, 'four ', 'one two three ')
      sink.isFull = false
      piece('msg_1', 19, 'five.', 'one two three four ')
      expect(await told('five.')).toEqual(['one two three four five.'])
      // One is missing: nothing more of it is told, also not from its begin.
      piece('msg_1', 30, 'seven ', 'one two three four five. six, ')
      piece('msg_1', 36, 'eight ', 'one two three four five. six, seven ')
      // The next one begins in its middle too, and is heard to its end.
      piece('msg_2', 2, 'b ', 'a ')
      piece('msg_2', 4, 'c', 'a b ')
      expect((await told('"c"')).slice(1)).toEqual(['a b ', 'c'])
      ending.abort()
    },
  )
})
