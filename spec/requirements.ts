import { conversations } from './requirements/conversations.ts'
import { discovery } from './requirements/discovery.ts'
import { operations } from './requirements/operations.ts'
import type { Requirement } from './requirements/section.ts'
import { sessions } from './requirements/sessions.ts'
import { signIn } from './requirements/sign-in.ts'
import { webAndApis } from './requirements/web-and-apis.ts'

export type { Level, Requirement, Side } from './requirements/section.ts'

/** Every obligation of the specification and of the Operations extension, in the order of its sections. */
export const requirements: readonly Requirement[] = [
  ...discovery,
  ...sessions,
  ...signIn,
  ...webAndApis,
  ...conversations,
  ...operations,
]
