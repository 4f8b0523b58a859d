import type { Logger, Scope } from '../store/database.ts'
import { longestNotice } from '../store/notices.ts'
import { statement } from '../store/statement.ts'
import type { Changes, Ear, Piece } from './changes.ts'

/**
 * Between the instances of a Company: after a commit the others are told which conversations and operations have changed,
 * by their ids and nothing else, and pieces of messages where they are small. Told once per turn of the event loop, and
 * less often where there is much: what is sent costs the database something.
 */

/** See {@link tellOthers}. */
export interface Others extends Pick<Changes, 'changed' | 'piece' | 'close'> {
  /** Begins to hear what others tell, once. */
  readonly listen: () => void
}

/** How it is told in this process. */
export interface Local extends Pick<Changes, 'changed' | 'piece'> {
  /** Something may have changed that nobody told of. */
  readonly stirred: () => void
}

/** What {@link tellOthers} needs. */
export interface OthersOptions {
  readonly scope: () => Promise<Scope>
  readonly log: Logger
  readonly local: Local
  /** Who waits in this process, by what for. */
  readonly ears: ReadonlyMap<string, ReadonlySet<Ear>>
}

/** Milliseconds between two times that something is sent. */
const pause = 10
/** Characters of a piece that is sent, and of all that wait to be: a piece is a courtesy. */
const longestPiece = 1_000
const mostPieces = 60_000
/** Conversations that one statement looks at. */
const bite = 1_000

/** Makes what tells other instances. */
export function tellOthers({ scope, log, local, ears }: OthersOptions): Others {
  /** Of whom a text is, so that nobody hears their own. */
  const sender = crypto.randomUUID().slice(0, 8)
  let ids = new Set<string>()
  let pieces: string[] = []
  let size = 0
  let isSending = false
  let stop: (() => void) | null = null
  let isListening = false
  let looking = false
  let hasClosed = false

  function sendSoon(): void {
    if (isSending || hasClosed) return
    isSending = true
    setImmediate(() => {
      send()
        .catch((error: unknown) => log.debug({ error: nameOf(error) }, 'other instances were not told'))
        .finally(() => {
          const next = setTimeout(() => {
            isSending = false
            if (ids.size > 0 || pieces.length > 0) sendSoon()
          }, pause)
          next.unref()
        })
    })
  }

  async function send(): Promise<void> {
    // Pieces first: what is whole replaces them.
    const lines = [...pieces, ...ids]
    ids = new Set()
    pieces = []
    size = 0
    const { db, company } = await scope()
    await db.notices?.send(company, packed(sender, lines))
  }

  function hear(text: string | null, isRoutine = false): void {
    try {
      heard(text, isRoutine)
    } catch (error) {
      // Whoever may use the database may send anything there.
      log.debug({ error: nameOf(error) }, 'what another instance told was not understood')
    }
  }

  function heard(text: string | null, isRoutine: boolean): void {
    if (hasClosed) return
    if (text === null) {
      // Whoever listens to everything has nothing that one look could find: they aren't stirred where nothing is amiss.
      if (!isRoutine) local.stirred()
      look()
      return
    }
    const [from, ...lines] = text.split('\n')
    if (from === sender) return
    for (const line of lines) {
      if (!line.startsWith('{')) local.changed(line)
      else hearPiece(line)
    }
  }

  function hearPiece(line: string): void {
    const { id, messageId, from, text } = JSON.parse(line) as Piece & { readonly id: string }
    local.piece(id, { messageId, from, text })
  }

  /** Looks for all who wait for events of a conversation. */
  function look(): void {
    if (looking || ears.size === 0) return
    looking = true
    lookAt([...ears.keys()])
      .catch((error: unknown) => log.debug({ error: nameOf(error) }, 'a look for changes failed'))
      .finally(() => {
        looking = false
      })
  }

  async function lookAt(all: readonly string[]): Promise<void> {
    const opened = await scope()
    for (let from = 0; from < all.length && !hasClosed; from += bite) {
      const asked = all.slice(from, from + bite)
      for (const { id, last_event } of await newest(opened, { ids: JSON.stringify(asked) })) {
        for (const ear of ears.get(id) ?? []) if (ear.after !== undefined && ear.after < last_event) ear.told()
      }
    }
  }

  async function begin(): Promise<void> {
    const { db, company } = await scope()
    if (hasClosed || db.notices === undefined) return
    stop = db.notices.listen(company, hear)
    // What was written since somebody began to wait was told to nobody.
    look()
  }

  return {
    changed(id) {
      ids.add(id)
      sendSoon()
    },
    piece(id, { messageId, from, text }) {
      // Not what came before it: each piece would be as long as the message.
      const line = JSON.stringify({ id, messageId, from, text })
      if (line.length > longestPiece || size + line.length > mostPieces) return
      pieces.push(line)
      size += line.length
      sendSoon()
    },
    listen() {
      // A store that isn't open yet is opened by whoever reads, and that fails where this would.
      if (isListening) return
      isListening = true
      begin().catch(() => {
        isListening = false
      })
    },
    close() {
      hasClosed = true
      stop?.()
    },
  }
}

/**
 * Tells all instances of a Company of changes that were made beside them, such as by a command. False where it could not be
 * told: then they find it by looking.
 */
export async function tellInstances({ db, company }: Scope, changed: readonly string[]): Promise<boolean> {
  try {
    await db.notices?.send(company, packed(crypto.randomUUID().slice(0, 8), changed))
    return db.notices !== undefined
  } catch {
    // What was done is done and committed, and whoever did it is told that this is heard later.
    return false
  }
}

/** Lines in as few texts as they fit in, each with its sender first. */
export function packed(sender: string, lines: readonly string[]): readonly string[] {
  const texts: string[] = []
  let text = sender
  for (const line of lines) {
    // Three bytes at most for a unit of UTF-16: nobody has to count them.
    if (text.length > sender.length && (text.length + line.length + 1) * 3 > longestNotice) {
      texts.push(text)
      text = sender
    }
    text += `\n${line}`
  }
  return text.length > sender.length ? [...texts, text] : texts
}

const newest = statement<{ readonly ids: string }, { readonly id: string; readonly last_event: number }>({
  sqlite: `select id, last_event from poppy_conversations
    where company = :company and id in (select value from json_each(:ids))`,
  postgres: `select id, last_event from poppy_conversations
    where company = :company and id in (select json_array_elements_text(cast(:ids as json)))`,
})

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
