import { createPersonalAgent, fileStore, type StandingPermission } from '@poppyseed/agent'

/** A Personal Agent in a process of its own, which confirms an operation, says how far it came, and stops there. */

/** What it is told. */
export interface OperationTask {
  readonly path: string
  readonly keys: readonly unknown[]
  readonly clientId: string
  readonly origin: string
  readonly now: number
  readonly id: string
  /** Where it stops for ever: at the owner's question, before the confirmation is sent, after it was answered, or at the end. */
  readonly stopsAt: 'question' | 'sending' | 'answer' | 'end'
  readonly permissions?: readonly StandingPermission[]
}

const task = JSON.parse(process.argv[2] ?? '{}') as OperationTask
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
    if (!url.endsWith('/confirm')) return fetch(url, init)
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
const session = (await agent.forUser('maya').company(task.origin)).session()
await session.operations.read(task.id)
say('ready')
await new Promise((resolve) => process.stdin.once('data', resolve))
const { permissions } = task
const approve = async () => {
  say('question')
  if (task.stopsAt === 'question') await forever()
  return { approved: true }
}
const result = await session.operations
  .confirm(task.id, permissions ? { permissions } : { approve })
  .then(({ outcome }) => outcome)
  .catch((error: { readonly code?: string }) => error.code ?? String(error))
say(result)
if (task.stopsAt === 'end') await forever()
process.exit(0)
