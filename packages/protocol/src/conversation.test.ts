import { describe, expect, it } from 'vitest'
import {
  agentMessageSchema,
  contextSchema,
  conversationEventSchema,
  eventHeadSchema,
  isLocale,
  isTimeZone,
} from './conversation.ts'

describe('the context of a message', () => {
  it('takes language tags and IANA time zones, and nothing like them', () => {
    for (const tag of ['en', 'en-US', 'de-CH-1996', 'zh-Hant-TW', 'x-private']) expect(isLocale(tag), tag).toBe(true)
    for (const tag of ['', 'en_US', 'english language', 'e', 'en-', '-en', 'en-US\n'])
      expect(isLocale(tag), tag).toBe(false)
    for (const name of ['America/Los_Angeles', 'Europe/Berlin', 'UTC', 'Etc/GMT+5'])
      expect(isTimeZone(name), name).toBe(true)
    for (const name of ['', '+02:00', '-05', 'Mars/Olympus', 'Europe/Berlin ', '2'])
      expect(isTimeZone(name), name).toBe(false)
  })

  it('keeps members that are not defined', () => {
    expect(contextSchema.parse({ locale: 'en', preferred_units: 'metric' })).toEqual({
      locale: 'en',
      preferred_units: 'metric',
    })
    expect(contextSchema.safeParse({ user_available: 'yes' }).success).toBe(false)
  })
})

describe('a message', () => {
  it('has an id of the URL-safe alphabet and a sender', () => {
    const message = { id: 'msg_Yq3v8LrT0aWc5NkE', sender: 'agent', text: 'Hello' }
    expect(agentMessageSchema.parse({ ...message, unknown: 1 })).toEqual(message)
    for (const id of ['', 'a b', 'ä', 'a/b', 'x'.repeat(257)])
      expect(agentMessageSchema.safeParse({ ...message, id }).success, id).toBe(false)
    for (const sender of ['user', 'Agent', '', undefined])
      expect(agentMessageSchema.safeParse({ ...message, sender }).success).toBe(false)
    expect(agentMessageSchema.safeParse({ ...message, data: [] }).success).toBe(false)
  })
})

describe('an event', () => {
  it('of a type that is not known has still its id', () => {
    const event = { id: 'evt_1', type: 'weather', created_at: '2026-10-08T19:03:00Z', sky: 'blue' }
    expect(conversationEventSchema.safeParse(event).success).toBe(false)
    expect(eventHeadSchema.parse(event)).toEqual(event)
  })
})
