import * as protocol from '@poppyseed/protocol'
import fc from 'fast-check'
import { expect } from 'vitest'
import { bentJson, json, oddText } from './fuzz.ts'

/** What the protocol reads of conversations (7), each with inputs and what has to hold of what comes out. */

/** A parser, by its exports; `check` is called with each input. */
export interface Fuzzed {
  readonly names: readonly (keyof typeof protocol)[]
  readonly inputs: fc.Arbitrary<unknown>
  readonly check: (input: unknown) => void
}

const message = {
  id: 'msg_1',
  sender: 'human',
  text: 'Medium, please.',
  data: { sizes: ['m'] },
  context: { locale: 'en-US', time_zone: 'America/Los_Angeles', user_available: true },
}
const head = { id: 'evt_1', created_at: '2026-10-08T19:03:00Z' }
const event = { ...head, type: 'message', message: { ...message, role: 'user' } }
const state = { ...head, type: 'state', status: 'idle', responder: 'human' }
const standing = { conversation_id: 'cnv_1', status: 'queued', responder: 'agent' }
const page = { ...standing, events: [event, state], cursor: 'evt_1', has_more: false }

const idForm = /^[A-Za-z0-9_-]{1,256}$/
const bent = (...right: readonly unknown[]) => fc.oneof(...right.map(bentJson), json)

function checkMessage(one: protocol.WireAgentMessage): void {
  expect(one.id).toMatch(idForm)
  expect(protocol.speakers).toContain(one.sender)
  for (const part of [one.data, one.context]) if (part !== undefined) expect(Object(part)).toBe(part)
  const { locale, time_zone: zone } = one.context ?? {}
  if (locale !== undefined) expect(protocol.isLocale(locale)).toBe(true)
  if (zone !== undefined) expect(protocol.isTimeZone(zone)).toBe(true)
}

/** All of them. */
export const conversationParsers: readonly Fuzzed[] = [
  {
    names: ['isLocale', 'isTimeZone'],
    inputs: fc.oneof(oddText, fc.constantFrom('en-US', 'x-klingon', 'Europe/Madrid', '+02:00')),
    check(input) {
      const text = String(input)
      if (protocol.isLocale(text)) expect(text).toMatch(/^[A-Za-z0-9-]+$/)
      if (protocol.isTimeZone(text)) expect(text).toMatch(/^[A-Za-z][A-Za-z0-9_+/-]*$/)
    },
  },
  {
    names: ['agentMessageSchema', 'contextSchema', 'startRequestSchema', 'messageRequestSchema'],
    inputs: bent(message),
    check(input) {
      const read = protocol.agentMessageSchema.safeParse(input)
      if (read.success) checkMessage(read.data)
      for (const schema of [protocol.startRequestSchema, protocol.messageRequestSchema])
        expect(schema.safeParse({ message: input }).success).toBe(read.success)
    },
  },
  {
    names: ['conversationEventSchema', 'eventMessageSchema', 'eventHeadSchema'],
    inputs: bent(event, state),
    check(input) {
      const read = protocol.conversationEventSchema.safeParse(input)
      if (!read.success) return
      expect(read.data.id).toMatch(idForm)
      expect(protocol.eventHeadSchema.safeParse(read.data).success).toBe(true)
      expect(protocol.conversationEventSchema.parse(read.data)).toEqual(read.data)
    },
  },
  {
    names: ['eventsPageSchema', 'conversationStandingSchema'],
    inputs: bent(page),
    check(input) {
      const read = protocol.eventsPageSchema.safeParse(input)
      if (!read.success) return
      expect(protocol.conversationStatuses).toContain(read.data.status)
      if (read.data.cursor !== null) expect(read.data.cursor).toMatch(idForm)
      expect(protocol.conversationStandingSchema.safeParse(read.data).success).toBe(true)
    },
  },
  {
    names: ['textDeltaSchema'],
    inputs: bent({ message_id: 'msg_1', text: 'Mad' }),
    check(input) {
      const read = protocol.textDeltaSchema.safeParse(input)
      if (read.success) expect(read.data.message_id).toMatch(idForm)
    },
  },
]
