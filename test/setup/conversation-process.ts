import { createPersonalAgent, fileStore } from '@poppyseed/agent'

/** A Personal Agent in a process of its own, in conversation; it says how far it came, and stops there for ever. */

/** What it is told. */
export interface ConversationTask {
  readonly path: string
  readonly keys: readonly unknown[]
  readonly clientId: string
  readonly origin: string
  readonly now: number
  /** Starts one; says something in one, in the owner's own words; or follows one. */
  readonly does: 'start' | 'say' | 'follow'
  readonly id: string
  /** Before a message leaves; once the Company has it; with the event in hand that has this number; or never. */
  readonly stopsAt: 'sending' | 'answer' | number | 'end'
}

const task = JSON.parse(process.argv[2] ?? '{}') as ConversationTask
const say = (line: string) => void process.stdout.write(`${line}\n`)
const forever = () =>
  new Promise<never>(() => {
    setInterval(() => {}, 60_000)
  })

const agent = createPersonalAgent({
  clientId: task.clientId,
  name: 'Test Agent',
  keys: task.keys,
  store: fileStore(task.path),
  now: () => task.now,
  allowHttp: true,
  fetch: async (url, init) => {
    if (init.method !== 'POST' || !url.includes('/conversations')) return fetch(url, init)
    if (task.stopsAt === 'sending') {
      say('sending')
      return forever()
    }
    const response = await fetch(url, init)
    if (task.stopsAt !== 'answer') return response
    say('answer')
    return forever()
  },
})
const { conversations } = (await agent.forUser('maya').company(task.origin)).session()
if (task.does === 'start') say((await conversations.start('From another process.')).id)
else {
  const conversation = await conversations.open(task.id)
  if (task.does === 'say') say((await conversation.sendAsUser('My own words.')).status)
  let number = 0
  if (task.does === 'follow') {
    for await (const event of conversation.follow()) {
      if ('id' in event) say(event.id)
      if (number++ === task.stopsAt) await forever()
    }
    say('end')
  }
}
process.exit(0)
