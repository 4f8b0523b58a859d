import { createPersonalAgent, fileStore } from '../src/index.ts'

/** A process of its own with an agent in it, on a store that others share. It says `ready`, waits for a line, and calls. */

interface Task {
  readonly path: string
  readonly keys: readonly unknown[]
  readonly origin: string
  readonly now: number
  readonly calls: number
  readonly operation: string
}

const task = JSON.parse(process.argv[2] ?? '{}') as Task
const agent = createPersonalAgent({
  clientId: 'http://localhost:4571/agent.json',
  name: 'Test Agent',
  keys: task.keys,
  store: fileStore(task.path),
  now: () => task.now,
  allowHttp: true,
})
const session = (await agent.forUser('maya').company(task.origin)).session()
await session.apiOperations()
process.stdout.write('ready\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
const calls = Array.from({ length: task.calls }, () => session.call(task.operation, { id: '1' }))
const ends = await Promise.allSettled(calls)
process.stdout.write(
  `${JSON.stringify(ends.map((end) => (end.status === 'fulfilled' ? end.value.status : String(end.reason))))}\n`,
)
process.exit(0)
