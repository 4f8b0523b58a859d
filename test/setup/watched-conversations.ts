import { type CompanyAgent, tool } from 'poppyseed'
import { expect } from 'vitest'
import { converse, pageOf, said, standingOf } from './converse.ts'
import { patiently, rita } from './front-desk.ts'
import { listen } from './listen.ts'
import { type WatchedTelemetry, watchTelemetry } from './telemetry.ts'
import { webhookSecret } from './webhook-receiver.ts'
import { makeWorld, type World } from './world.ts'

/** Conversations of one User with all that is told of them: turns, tools, a wait for a person, a stream, and webhooks. */

/** What nobody who watches a Company may read there. */
export const canaries = {
  question: 'canary-question-of-the-user',
  answer: 'canary-answer-of-the-agent',
  reason: 'canary-reason-of-the-handoff',
  reply: 'canary-reply-of-rita',
  failure: 'canary-inside-of-an-error',
  input: 'canary-input-of-a-tool',
} as const

/** See {@link watchConversations}. */
export interface WatchedConversations {
  readonly telemetry: WatchedTelemetry
  readonly world: World
  /** Everything that opens something, or names somebody. */
  readonly secrets: readonly string[]
  readonly ids: { readonly answered: string; readonly waited: string; readonly broken: string }
  /** What was told while a stream was open and somebody waited. */
  readonly meanwhile: Awaited<ReturnType<WatchedTelemetry['points']>>
}

/** Plays the visit. */
export async function watchConversations(): Promise<WatchedConversations> {
  const telemetry = watchTelemetry()
  const receiver = await listen(() => async () => new Response(null, { status: 503 }))
  const agent: CompanyAgent = async function* (turn) {
    const text = turn.asked.at(-1)?.text ?? ''
    if (text.includes('person')) yield { type: 'handoff', reason: canaries.reason }
    else if (text.includes('breaks')) throw new RangeError(canaries.failure)
    else {
      await turn.call('look', { for: canaries.input })
      yield { type: 'text', text: canaries.answer }
    }
  }
  const world = await makeWorld({
    origin: 'http://localhost:8080',
    organization: { name: 'Hotel Miramar', domain: 'localhost' },
    development: true,
    agent,
    conversations: {},
    webhooks: [{ url: `${receiver.origin}/poppy?token=canary-address`, secret: webhookSecret }],
    tools: [tool({ name: 'look', description: 'Looks.', run: () => ({ found: true }) })],
  })
  const { company } = world
  const started = await world.start()
  const tokens = await world.signIn(world.agent, started.session_id)
  const talk = converse(world.agent, tokens.access_token)
  const start = async (text: string) =>
    (await standingOf(await talk.start(said(`${canaries.question} ${text}`)))).conversation_id
  const idle = (id: string) =>
    expect.poll(async () => (await pageOf(await talk.read(id))).status, patiently).not.toBe('working')

  await company.conversations.present(rita)
  const answered = await start('Is breakfast included?')
  await idle(answered)
  const broken = await start('breaks')
  await idle(broken)
  const waited = await start('I want a person.')
  await idle(waited)
  const stream = await talk.read(waited, '', { accept: 'text/event-stream' })
  const meanwhile = await telemetry.points()
  world.clock.now += 42_000
  await company.conversations.take(waited, rita)
  await company.conversations.reply(waited, rita, { text: canaries.reply })
  await company.conversations.close(waited, rita)
  await stream.text()
  while (!(await company.work()).isDone);
  await expect
    .poll(async () => JSON.stringify(await telemetry.points()).includes('poppy.webhook.deliveries'), patiently)
    .toBe(true)
  return {
    telemetry,
    world,
    secrets: [
      ...Object.values(canaries),
      ...[started.access_token, tokens.access_token, tokens.refresh_token ?? 'none'],
      ...[webhookSecret, 'canary-address', 'acc-maya', 'maya@example', 'usr_', 'user_id', rita.id, rita.name],
    ],
    ids: { answered, waited, broken },
    meanwhile,
  }
}
