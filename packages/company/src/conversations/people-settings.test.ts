import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../configuration-error.ts'
import { checkPeople, type PeopleConfig } from './people-settings.ts'
import { withoutConversations } from './staff.ts'

describe('the settings for people', () => {
  it('are ten minutes, two minutes and a day where nothing is set', () => {
    expect(checkPeople({})).toEqual({
      hours: null,
      timing: { patience: 600_000, absence: 120_000, inactivity: 86_400_000 },
    })
    expect(checkPeople({ people: { patience: 60 }, inactivity: 3600 }).timing).toMatchObject({
      patience: 60_000,
      inactivity: 3_600_000,
    })
  })

  it.each([
    [{ people: [] }, 'openingHours'],
    [{ people: { hours: '9 to 5' } }, 'people.hours'],
    [{ people: { patience: 0 } }, 'people.patience'],
    [{ people: { patience: '600' } }, 'people.patience'],
    [{ people: { patience: 1e9 } }, 'people.patience'],
    [{ inactivity: 0.5 }, 'inactivity'],
    [{ people: { openingHours: { mon: '09:00-18:00' } } }, 'time zone'],
  ])('that are wrong are refused in a sentence: %j', (config, what) => {
    expect(() => checkPeople(config as PeopleConfig)).toThrow(ConfigurationError)
    expect(() => checkPeople(config as PeopleConfig)).toThrow(what)
  })

  it('say what to write where a Company has no conversations', async () => {
    await expect(withoutConversations().queue()).rejects.toThrow('Write conversations: {}')
  })
})
