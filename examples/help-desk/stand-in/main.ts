import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { toNodeHandler } from 'poppyseed/node'
import { trying } from '../settings.ts'
import { createStandIn } from './desk.ts'

/** The stand-in at a terminal: tickets are shown, and a line answers one: `1 Hello`, `1 /note …`, `1 /pending`, `1 /resolve`. */

const { port, token, secret } = trying.desk
const agent = { id: 7, name: 'Rita Alvarez' }
const desk = createStandIn({
  token,
  webhook: { url: `http://localhost:${trying.adapter.port}/from-desk`, secret },
  onMessage: (ticket, { content, message_type, private: isPrivate, sender }) => {
    if (sender.type === 'user' && sender.id === agent.id) return
    console.log(`#${ticket.id} ${isPrivate ? '(private) ' : message_type === 'incoming' ? '< ' : '> '}${content}`)
  },
})

createServer(toNodeHandler({ owns: () => true, fetch: desk.fetch })).listen(port, '127.0.0.1', () => {
  console.log(`The help desk listens at http://localhost:${port}. You are ${agent.name}.`)
  console.log(
    'A line answers a ticket: 1 Hello · 1 /note … · 1 /pending (the Company Agent goes on) · 1 /resolve (closed)',
  )
})

for await (const line of createInterface({ input: process.stdin })) {
  const [, number = '', word = '', text = ''] = /^\s*(\d+)\s+(?:(\/[a-z]+)\b)?\s*(.*)$/.exec(line) ?? []
  try {
    if (word === '/pending' || word === '/resolve')
      await desk.setStatus(Number(number), word === '/pending' ? 'pending' : 'resolved')
    else if (number !== '' && text !== '')
      await desk.answer(Number(number), agent, text, { isPrivate: word === '/note' })
    else console.log('1 Hello · 1 /note … · 1 /pending · 1 /resolve')
  } catch (error) {
    console.log(error instanceof Error ? error.message : 'That failed.')
  }
}
