import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDocumentFetcher } from './fetch-document.ts'
import { createDnsLookup } from './resolve.ts'

/** A name server on loopback. It knows a few names, and answers for `silent.example` never. */
const names: Readonly<Record<string, Readonly<Record<number, readonly number[]>>>> = {
  'both.example': { 1: [93, 184, 216, 34], 28: [0x26, 6, 0x47, 0, ...Array<number>(11).fill(0), 1] },
  'four.example': { 1: [127, 0, 0, 1] },
}
const nameServer = createSocket('udp4')
let server: string

beforeAll(async () => {
  nameServer.on('message', (query, from) => {
    const answer = answerTo(query)
    if (answer) nameServer.send(answer, from.port, from.address)
  })
  nameServer.bind(0, '127.0.0.1')
  await once(nameServer, 'listening')
  server = `127.0.0.1:${nameServer.address().port}`
})
afterAll(() => {
  nameServer.close()
})

/** RFC 1035, as much as one question needs. */
function answerTo(query: Buffer): Buffer | null {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const name = labels.join('.').toLowerCase()
  if (name === 'silent.example') return null
  const type = query.readUInt16BE(at + 1)
  const data = names[name]?.[type]
  const header = Buffer.from(query.subarray(0, 12))
  // A response, with recursion; NXDOMAIN for a name that nobody knows.
  header.writeUInt16BE(names[name] ? 0x8180 : 0x8183, 2)
  header.writeUInt16BE(data ? 1 : 0, 6)
  header.writeUInt16BE(0, 8)
  header.writeUInt16BE(0, 10)
  const record = data ? [0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data] : []
  return Buffer.concat([header, query.subarray(12, at + 5), Buffer.from(record)])
}

const never = new AbortController().signal

it('brings the addresses of both families, or of the one that there is', async () => {
  const lookup = createDnsLookup([server])
  expect(await lookup('both.example', never)).toEqual(['93.184.216.34', '2606:4700::1'])
  expect(await lookup('four.example', never)).toEqual(['127.0.0.1'])
  expect(await lookup('unknown.example', never)).toEqual([])
})

it('stops asking when there is no more time', async () => {
  const ending = new AbortController()
  const asked = once(nameServer, 'message')
  const answer = createDnsLookup([server])('silent.example', ending.signal)
  await asked
  ending.abort()
  expect(await answer).toEqual([])
})

it('is what a fetcher checks: a name that leads inside is not dialled, a name without address is not found [K16]', async () => {
  const fetchDocument = createDocumentFetcher({ lookup: createDnsLookup([server]) })
  await expect(fetchDocument('https://four.example/')).rejects.toMatchObject({ reason: 'forbidden_address' })
  await expect(fetchDocument('https://unknown.example/')).rejects.toMatchObject({ reason: 'name_not_found' })
})
