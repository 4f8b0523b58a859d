import { AgentError } from '@poppyseed/agent'
import { startVisitingAgent } from './agent-server.ts'
import { playVisit, VisitError } from './visit.ts'

/** `npm run visit -- [address]`: the visit alone, against a hotel on this machine. Exits 0 only if each step went as told. */

const address = process.argv[2] ?? `http://localhost:${process.env.PORT ?? 4000}`

let step = 0
const { agent, close } = await startVisitingAgent()
try {
  await playVisit({ address, agent, say: (line) => console.log(`${String(++step).padStart(2)}. ${line}`) })
} catch (error) {
  console.error(`\nThe visit to ${address} stopped after step ${step}. ${sentenceOf(error)}`)
  process.exitCode = 1
} finally {
  await close()
}

function sentenceOf(error: unknown): string {
  if (error instanceof AgentError && error.code === 'unreachable')
    return `${error.message} Is the hotel open? Start it with: npm start`
  if (error instanceof AgentError || error instanceof VisitError) return error.message
  return error instanceof Error ? error.message : 'The reason is not known.'
}
