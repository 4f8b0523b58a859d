import type { Logger } from './store/database.ts'

/** Where a company hands in no logger: warnings and errors to the console, the rest nowhere. */
export const consoleLog: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(`poppyseed: ${message}`, fields),
  error: (fields, message) => console.error(`poppyseed: ${message}`, fields),
}
