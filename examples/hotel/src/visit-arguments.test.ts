import { describe, expect, it } from 'vitest'
import { readVisitArguments } from './visit-arguments.ts'

describe('what npm run visit is told', () => {
  it('is an address and what the visit is for, in any order, and help for whoever asks', () => {
    expect(readVisitArguments([], '4001')).toEqual({ address: 'http://localhost:4001', isYes: false, isHuman: false })
    expect(readVisitArguments(['--human', 'http://localhost:4002', '--yes'])).toEqual({
      address: 'http://localhost:4002',
      isYes: true,
      isHuman: true,
    })
    expect([readVisitArguments(['--help']), readVisitArguments(['-h', '--yes'])]).toEqual(['help', 'help'])
  })

  it('takes no option for an address, and no second address for nothing', () => {
    expect(() => readVisitArguments(['--humans'])).toThrow('--humans')
    expect(() => readVisitArguments(['http://localhost:4000', 'x'])).toThrow('this is another: x')
  })
})
