import type { Logger } from './store/database.ts'

/** Where a company hands in no logger: warnings and errors to the console, the rest nowhere. */
export const consoleLog: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(...lineOf(fields, message)),
  error: (fields, message) => console.error(...lineOf(fields, message)),
}

function lineOf(fields: Parameters<Logger['warn']>[0], message: string | undefined): readonly unknown[] {
  const line = `poppyseed: ${message}`
  return Object.keys(fields).length === 0 ? [line] : [line, fields]
}
