import { type Changes, createChanges } from '../operations/changes.ts'

/** Who waits for a conversation is told in this process at once; of what other instances do, by looking now and then. */
export type ConversationChanges = Changes

/** Makes the place where changes of conversations are told. */
export const createConversationChanges: () => ConversationChanges = createChanges
