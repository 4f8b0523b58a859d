import { agentRules } from '@poppyseed/conformance'
import { expect, it } from 'vitest'
import { cases } from '../spec/cases.ts'
import { requirements } from '../spec/requirements.ts'

it('a misbehaving Company names only rules that are written down, and rules of Personal Agents', () => {
  const ofAgents = [
    ...requirements.filter(({ side }) => side !== 'company').map(({ id }) => id),
    ...cases.filter(({ side }) => side.includes('agent')).map(({ id }) => id),
  ]
  expect(agentRules.filter((rule) => !ofAgents.includes(rule))).toEqual([])
  expect(new Set(agentRules).size).toBe(agentRules.length)
})
