import { z } from 'zod'
import { tool } from '../../packages/company/src/tools/tool.ts'

/** What the Companies of tests have in common, for processes of their own too. */

export const secret = 'test-secret-of-more-than-thirty-two-characters-9x7'

export const testTools = () => [
  tool({
    name: 'echo',
    description: 'Gives back what it got.',
    input: z.object({ text: z.string().max(100) }),
    run: ({ text }, { principal }) => ({ text, userId: principal.userId, account: principal.account }),
  }),
  tool({
    name: 'my_bookings',
    description: 'Bookings of the guest.',
    scope: 'poppy:read',
    run: (_input, { principal }) => ({ account: principal.account }),
  }),
  tool({
    name: 'add_note',
    description: 'Adds a note.',
    scope: ['poppy:read', 'poppy:write'],
    run: () => ({ done: true }),
  }),
  tool({ name: 'points', description: 'Loyalty points.', scope: 'loyalty', run: () => ({ points: 7 }) }),
]
