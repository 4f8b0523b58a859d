import type { Conversation, UserAnswer } from '../../conversations/conversation.ts'
import type { ConversationEvent } from '../../conversations/event.ts'
import type { UnsentMessage } from '../../conversations/outbox.ts'
import type { SignInNeeded } from '../../conversations/step-up.ts'
import { AgentError } from '../../errors.ts'
import type { Operation } from '../../operations/operation.ts'
import type { Session } from '../../session.ts'
import type { SignInResult } from '../../sessions/sign-in-end.ts'
import { showOperation, showResult, stateWords } from '../operation-lines.ts'
import { clean, type Output } from '../terminal.ts'
import { beginning, type ChatNames, changeWords, dataLines, messageLines, speakerOf } from './chat-lines.ts'
import { createSignIns } from './open-sign-in.ts'
import type { ChatScreen } from './screen.ts'

/** A chat at a terminal: lines that are typed go out, what happens is shown, and words with a slash do the rest. */

/** What a chat works with. */
export interface Talk {
  readonly session: Session
  readonly screen: ChatScreen
  readonly output: Output
  readonly names: ChatNames
  /** Asks for a sign-in; the signal ends the waiting for it. */
  readonly signIn: (needed: SignInNeeded, signal: AbortSignal) => Promise<SignInResult>
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** The owner speaks for themselves from the first line on. */
  readonly asUser: boolean
  /** One line and no more: what fails is given back, and ends the command. */
  readonly isOnce: boolean
  /** What could not be said for certain before, and was said as this command began. */
  readonly before: readonly SaidBefore[]
}

/** A message that was left over. */
export interface SaidBefore {
  readonly message: UnsentMessage
  readonly conversation: Conversation
}

/** How a chat ended. */
export interface TalkEnd {
  readonly conversation: Conversation | undefined
  readonly isClosed: boolean
  /** Why the only line could not be said or answered. */
  readonly failure: AgentError | undefined
}

/** Words that do something, as `/help` lists them. */
const chatHelp = [
  ['/human <words>', 'your own words, as you write them; other lines are your agent’s'],
  ['/handoff', 'ask for a person of the company'],
  ['/direct <words>', 'talk with the company yourself, in a conversation of your own'],
  ['/decline [words]', 'say that you don’t talk with it yourself'],
  ['/sign-in', 'sign in where the company has asked for it'],
  ['/confirm', 'confirm what was proposed last, exactly as it was shown'],
  ['/cancel', 'cancel what was proposed last'],
  ['/close', 'end the conversation'],
  ['/leave', 'leave it open, and go on another time'],
] as const

/** Milliseconds in which nobody has read what took the place of something else. */
const moment = 3000
/** Milliseconds in which the same words are the same message, where nobody knew what became of it. */
const sameFor = 3600 * 1000
/** Seconds that a confirmed operation is followed before the chat goes on. */
const followed = 20

/** What somebody who types `/confirm` has seen. */
function onScreen({ id, revision, summary, terms }: Operation): string {
  return JSON.stringify([id, revision, summary, terms])
}

/** Runs the chat until it is closed, left, or nothing more is typed. */
export async function runTalk(talk: Talk, opened: Conversation | undefined): Promise<TalkEnd> {
  const { session, screen, output, names } = talk
  const stop = new AbortController()
  let current = opened
  let parent: Conversation | undefined
  let proposed: Operation | undefined
  /** When a proposal came after another; undefined where none did, or its owner has been told. */
  let surprisedAt: number | undefined
  let hasProposed = false
  /** The message that is being written: what came of it, and what breaks it into lines. */
  let writing: { readonly id: string; text: string; readonly wrap: (text: string) => string } | undefined
  let following: Promise<void> | undefined
  let isOver = false
  let failure: AgentError | undefined
  const closed = new Set<string>()
  /** Where each operation stood when it was last told. */
  const shownStates = new Map<string, Operation['state']>()
  /** Direct Conversations that began here, and whether one is about to: what becomes of them is told where it is done. */
  const directs = new Set<string>()
  let isGoingDirect = false

  const show = (...lines: readonly string[]) => {
    writing = undefined
    if (!output.json && lines.length > 0) screen.show(lines.join('\n'))
  }
  /** Ends the line that was written piece by piece. */
  const endLine = () => {
    writing = undefined
    if (!output.json) screen.show('')
  }
  const note = (text: string) => show(...text.split('\n').map((line) => output.dim(line)))
  /** Shows at once what another part of the command writes line by line. */
  const inOne = (write: (lined: Output) => void) => {
    const lines: string[] = []
    write({ ...output, line: (text = '') => void lines.push(text) })
    show(...lines)
  }
  const showAll = (operation: Operation) => inOne((lined) => showOperation(lined, operation, screen.columns()))

  const signIns = createSignIns({
    signal: stop.signal,
    onInterrupt: screen.onInterrupt,
    failed: (error) => failed(error),
    signIn: async (needed, signal) => {
      const { granted, missing } = await talk.signIn(needed, signal)
      output.value({ signedIn: granted, missing })
      // Said before the Company is told to go on, so that what it says then stands below it.
      if (missing.length === 0) note('Signed in; the conversation goes on.')
    },
    ended: ({ event }, outcome) => {
      output.value({ authorization: event.id, ...outcome })
      if (outcome.error) note(clean(outcome.error.message, 400))
    },
    cancelled: () => {
      output.value({ authorization: 'cancelled' })
      note('Sign-in cancelled; the conversation goes on without it. /sign-in opens it again.')
    },
  })

  function tell(event: ConversationEvent, conversation: Conversation): void {
    if (event.type === 'delta') {
      piece(event)
      return
    }
    output.value(event)
    if (event.type === 'message') {
      const { message } = event
      // What was written is what is shown: nothing to say twice.
      if (message.role === 'company') said(message)
      if (message.operation) offer({ operation: message.operation, text: message.text })
      return
    }
    if (event.type === 'authorization' && event.outcome.result === 'needs_owner') {
      signIns.begin({ event, conversation })
      return
    }
    if (event.type === 'authorization' && ['declined', 'stopped'].includes(event.outcome.result))
      signIns.note({ event, conversation })
    if (event.type === 'directOpened' && (isGoingDirect || directs.has(event.conversationId))) return
    if (event.type === 'directClosed' && event.conversationId !== undefined && directs.has(event.conversationId)) return
    const words = changeWords(event, names)
    if (words !== undefined) note(words)
    if (event.type === 'state' && event.status === 'idle' && event.responder === 'human') note('A person answers now.')
    if (event.type === 'state' && event.status === 'closed') over(conversation)
  }

  /** A message, whole: in place of its pieces (7.6), which are told as the words of an AI. */
  function said(message: Extract<ConversationEvent, { type: 'message' }>['message']): void {
    const isShown = writing?.id === message.id && writing.text === (message.text ?? '') && message.sender === 'agent'
    const columns = screen.columns()
    if (isShown) {
      endLine()
      show(...dataLines(message, columns))
      return
    }
    const { operation, text, data } = message
    // The summary stands in what is shown of the operation.
    if (operation && isProposal(operation) && text === operation.summary && data === undefined) {
      show(output.bold(`${speakerOf(message, names)} proposes:`))
      return
    }
    show(...messageLines(output, message, names, columns))
  }

  function piece({ messageId, provisionalText }: Extract<ConversationEvent, { type: 'delta' }>): void {
    if (output.json || !screen.isLive) return
    if (writing?.id !== messageId) {
      const isOther = writing !== undefined
      const head = beginning(output, { role: 'company', sender: 'agent' }, names, screen.columns())
      writing = { id: messageId, text: '', wrap: head.wrap }
      screen.piece(`${isOther ? '\n' : ''}${head.text}`)
    }
    writing.text += provisionalText
    screen.piece(writing.wrap(provisionalText))
  }

  /** Whether it is proposed, and other than what stands there already. */
  function isProposal(operation: Operation): boolean {
    return operation.state === 'proposed' && (proposed === undefined || onScreen(proposed) !== onScreen(operation))
  }

  function offer({
    operation,
    text = '',
  }: {
    readonly operation: Operation
    readonly text?: string | undefined
  }): void {
    const isNew = isProposal(operation)
    if (operation.state !== 'proposed') {
      if (proposed?.id === operation.id) proposed = undefined
      // Its owner has it from what they did themselves.
      if (shownStates.get(operation.id) === operation.state) return
      shownStates.set(operation.id, operation.state)
      const what = text.includes(operation.summary) ? '' : `${clean(operation.summary, 400)} `
      note(`${what}State: ${stateWords[operation.state]}.`)
      return
    }
    const isInPlace = proposed !== undefined
    proposed = operation
    if (!isNew) return
    // Whoever is about to confirm one must not confirm another that came in that moment, also where the one before it was taken
    // back, or the other is told twice. Lines of a pipe were written before anything was seen.
    surprisedAt = isInPlace || (hasProposed && screen.isLive) ? talk.now() : undefined
    hasProposed = true
    showAll(operation)
    note('Type /confirm to confirm exactly this, or /cancel. Nothing is done before you confirm.')
  }

  /** It is closed, by whichever side, and whoever says it first. After a Direct Conversation the one before it goes on. */
  function over({ id }: Conversation): void {
    if (closed.has(id)) return
    closed.add(id)
    note(directs.has(id) ? 'Your own conversation with the company is closed.' : 'The conversation is closed.')
    if (id !== current?.id) return
    if (parent === undefined) {
      isOver = true
      if (screen.isLive) screen.close()
      return
    }
    current = parent
    parent = undefined
    note('Back in the conversation of your agent.')
    restart()
  }

  let reader = new AbortController()
  /** Whether nothing is read any more, because something stood in the way. */
  let isDeaf = false
  /** Of the reading that goes on by itself. */
  let listening: AbortSignal | undefined
  function restart(): void {
    if (!screen.isLive || current === undefined) return
    reader.abort()
    isDeaf = false
    reader = new AbortController()
    listening = AbortSignal.any([reader.signal, stop.signal])
    following = follow(current, listening)
  }

  async function follow(
    conversation: Conversation,
    signal: AbortSignal,
    watch?: (event: ConversationEvent) => void,
  ): Promise<void> {
    try {
      for await (const event of conversation.follow({ signal })) {
        tell(event, conversation)
        watch?.(event)
        if (signal.aborted) {
          await conversation.handled(event)
          return
        }
      }
    } catch (error) {
      if (signal.aborted) return
      failed(error)
      if (signal !== listening) return
      isDeaf = true
      note('What the company says is looked for again with your next line.')
    }
  }

  function failed(error: unknown): void {
    if (!(error instanceof AgentError)) throw error
    if (talk.isOnce) {
      failure = error
      return
    }
    output.value(error)
    show(`${output.bold('Not done:')} ${clean(error.message, 1000)}`)
  }

  /** Without a screen that goes on by itself, the answer is waited for. */
  async function heard(conversation: Conversation, send: () => Promise<unknown>): Promise<void> {
    await send()
    if (screen.isLive) return
    const { events, outcome } = await conversation.answer({ signal: stop.signal })
    for (const event of events) tell(event, conversation)
    if (signIns.open() !== undefined) {
      if (await signedInMeanwhile(conversation)) await heard(conversation, async () => {})
      return
    }
    const isToldAlready = events.some(
      (event) => event.type === 'state' || (event.type === 'message' && event.message.role === 'company'),
    )
    if (conversation.status === 'queued' && !isToldAlready) note('Still waiting for a person.')
    if (outcome === 'still_working') note('No answer yet. It comes when you go on with this conversation.')
  }

  /** What happens while a page to sign in is open is shown then. @returns whether an answer is to be waited for after it */
  async function signedInMeanwhile(conversation: Conversation): Promise<boolean> {
    const enough = new AbortController()
    let hasSaid = false
    let isAnswered = false
    // The Company may have answered before its answer to the sending is here: a person has no turn that would end then.
    const watching = follow(conversation, AbortSignal.any([enough.signal, stop.signal]), (event) => {
      if (event.type !== 'message') return
      if (event.message.role === 'user') hasSaid = true
      isAnswered = hasSaid && event.message.role === 'company'
    })
    let goesOn = false
    for (let open = signIns.open(); open !== undefined; open = signIns.open()) goesOn = (await open) || goesOn
    enough.abort()
    await watching
    return goesOn && !(isAnswered && conversation.status === 'idle')
  }

  const saidBefore = [...talk.before]
  /**
   * Whoever gives the same command once more, because its words could not be said, has them said once (7.3). A person at a
   * terminal was told that they are said, before they typed anything.
   */
  function takeSaid(text: string, isTheirs: boolean): Conversation | undefined {
    if (screen.isLive) return undefined
    const at = saidBefore.findIndex(
      ({ message }) =>
        message.text === text &&
        message.isOwners === isTheirs &&
        message.parentId === undefined &&
        message.conversationId === current?.id &&
        talk.now() - message.at < sameFor,
    )
    return saidBefore.splice(at, at < 0 ? 0 : 1)[0]?.conversation
  }

  async function say(text: string, isOwn: boolean): Promise<void> {
    const options = { signal: stop.signal }
    const said = takeSaid(text, isOwn || current?.parentId !== undefined)
    if (said !== undefined) {
      if (current === undefined) output.value({ conversation: said.id })
      current ??= said
      await heard(current, async () => {})
      return
    }
    if (current === undefined) {
      current = isOwn
        ? await session.conversations.startAsUser(text, options)
        : await session.conversations.start(text, options)
      output.value({ conversation: current.id })
      restart()
      await heard(current, async () => {})
      return
    }
    const conversation = current
    const isTheirs = isOwn || conversation.parentId !== undefined
    await heard(conversation, () =>
      isTheirs ? conversation.sendAsUser(text, options) : conversation.send(text, options),
    )
  }

  function open(): Conversation {
    if (current === undefined) throw new AgentError('invalid_input', 'Nothing was said yet: type a message first.')
    return current
  }

  async function direct(words: string): Promise<void> {
    if (words === '') throw new AgentError('invalid_input', 'Type your first words with it: /direct Hello, …')
    const conversation = open()
    if (conversation.parentId !== undefined) return say(words, true)
    const answer: UserAnswer = { words }
    parent = conversation
    isGoingDirect = true
    try {
      current = await conversation.direct(answer.words)
      directs.add(current.id)
    } catch (error) {
      parent = undefined
      throw error
    } finally {
      isGoingDirect = false
    }
    note('You talk with the company yourself now: your lines are your own. /close ends it and brings your agent back.')
    restart()
    await heard(current, async () => {})
  }

  async function confirm(): Promise<void> {
    const shown = proposed
    if (shown === undefined) throw new AgentError('invalid_input', 'Nothing is proposed that could be confirmed.')
    if (surprisedAt !== undefined && talk.now() - surprisedAt < moment) {
      surprisedAt = undefined
      return note('This has just taken the place of what was proposed before. Look at it, and type /confirm once more.')
    }
    const result = await session.operations.confirm(shown.id, {
      approve: async ({ operation }) => {
        // The word holds for what was on the screen, and for no other terms, whichever revision they are called.
        if (onScreen(operation) === onScreen(shown)) return { approved: true }
        proposed = operation
        note('The terms have changed. These are the new ones:')
        showAll(operation)
        return { approved: false }
      },
      openPage: (url) => {
        output.value({ open: url })
        show('This is confirmed on the company’s own page. Open it in your browser:', '', `  ${clean(url, 8000)}`, '')
      },
    })
    if (result.outcome === 'declined') return note('Not confirmed. Nothing was done.')
    const { operation } = result
    const last =
      operation.state === 'in_progress' ? await session.operations.wait(shown.id, { seconds: followed }) : operation
    if (proposed?.id === last.id) proposed = undefined
    output.value({ outcome: result.outcome, operation: last })
    shownStates.set(last.id, last.state)
    show(`${result.outcome === 'confirmed' ? 'Confirmed' : 'Not confirmed'}. State: ${stateWords[last.state]}.`)
    inOne((lined) => showResult(lined, last, screen.columns()))
    if (last.objection !== undefined) show(`${output.bold('Beware:')} ${clean(last.objection, 400)}`)
  }

  async function cancel(): Promise<void> {
    if (proposed === undefined) throw new AgentError('invalid_input', 'Nothing is proposed that could be cancelled.')
    const operation = await session.operations.cancel(proposed.id)
    if (operation.isFinal) proposed = undefined
    output.value({ operation })
    shownStates.set(operation.id, operation.state)
    show(`State: ${stateWords[operation.state]}.`)
  }

  async function handoff(): Promise<void> {
    const conversation = open()
    const { status, responder } = await conversation.handoff({ signal: stop.signal })
    if (!screen.isLive) await heard(conversation, async () => {})
    else if (status === 'idle' && responder === 'human') note('A person answers already.')
  }

  /** @returns whether the chat goes on */
  async function act(line: string): Promise<boolean> {
    const [, word = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? []
    switch (word) {
      case 'human':
        if (rest === '') throw new AgentError('invalid_input', 'Type your words with it: /human …')
        await say(rest, true)
        return true
      case 'handoff':
        await handoff()
        return true
      case 'direct':
        await direct(rest)
        return true
      case 'decline': {
        const conversation = open()
        await heard(conversation, () => conversation.declineUser(rest === '' ? undefined : rest))
        return true
      }
      case 'sign-in': {
        const { conversation } = signIns.again()
        if (!screen.isLive && (await signedInMeanwhile(conversation))) await heard(conversation, async () => {})
        return true
      }
      case 'confirm':
        await confirm()
        return true
      case 'cancel':
        await cancel()
        return true
      case 'close': {
        const conversation = open()
        await conversation.close({ signal: stop.signal })
        over(conversation)
        return !isOver
      }
      case 'leave':
      case 'quit':
      case 'exit':
        return false
      case 'help':
        show(...chatHelp.map(([usage, meaning]) => `${usage.padEnd(18)}${meaning}`))
        return true
      default:
        throw new AgentError('invalid_input', `There is no /${clean(word, 30)}. Type /help for what there is.`)
    }
  }

  if (opened !== undefined && screen.isLive) note(`Going on with ${clean(opened.id, 256)}.`)
  restart()
  for (;;) {
    const line = await screen.next()
    if (line === undefined || isOver) break
    const text = line.trim()
    if (text === '') continue
    if (isDeaf) restart()
    try {
      if (text.startsWith('/')) {
        if (!(await act(text))) break
      } else await say(text, talk.asUser)
    } catch (error) {
      failed(error)
    }
    if (isOver) break
  }
  stop.abort()
  await following
  await signIns.open()
  return { conversation: parent ?? current, isClosed: isOver, failure }
}
