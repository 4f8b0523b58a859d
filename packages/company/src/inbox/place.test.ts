import { describe, expect, it } from 'vitest'
import { addressOf, readPlace } from './place.ts'

const path = '/svc2/poppy/inbox'
const conversation = { kind: 'conversation', id: 'cnv_a' } as const
const operation = { kind: 'operation', id: 'opn_a' } as const

describe('a place in the inbox', () => {
  it.each([
    ['', null, path],
    ['list=open', null, `${path}?list=open`],
    ['list=waiting', null, path],
    ['list=open&after=open.12.cnv_b', null, `${path}?list=open&after=open.12.cnv_b`],
    ['q=room 12&since=text.1.a', null, `${path}?q=room+12&since=text.1.a`],
    ['list=mine', conversation, `${path}/conversations/cnv_a?list=mine`],
    ['list=mine&before=200', conversation, `${path}/conversations/cnv_a?list=mine&before=200`],
    ['', operation, `${path}/operations/opn_a`],
    ['list=settle', operation, `${path}/operations/opn_a`],
    ['list=waiting', operation, `${path}/operations/opn_a?list=waiting`],
  ] as const)('has one address: %s', (query, opened, address) => {
    const place = readPlace(new URLSearchParams(query), opened)
    expect(addressOf(path, place)).toBe(address)
    const again = readPlace(new URL(address, 'https://miramar.example').searchParams, opened)
    expect(again).toEqual(place)
  })

  it.each([
    'list=nothing',
    'list=open&list=mine',
    'list=constructor',
    'q=',
    'q=%20%00%20',
    'after=',
    `after=${'a'.repeat(401)}`,
    'after=<script>',
    'before=1',
    'since=a b',
  ])('passes over what is none: %s', (query) => {
    expect(addressOf(path, readPlace(new URLSearchParams(query), null))).toBe(path)
  })

  it('looks at a search only so far, and at nothing that a database may take offence at', () => {
    const { query } = readPlace(new URLSearchParams({ q: `a\0\ud800${'x'.repeat(1000)}` }), null)
    expect(query?.length).toBeLessThanOrEqual(300)
    expect(query?.includes('\0')).toBe(false)
    expect(query?.isWellFormed()).toBe(true)
  })
})
