import type { Logger } from 'poppyseed'

/** A logger that writes warnings and errors as lines; a larger site hands in pino. */
export function lineLog(write: (line: string) => void): Logger {
  const line = (fields: object, message: string) => {
    const details = Object.entries(fields).map(
      ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    write([message, ...details].join(' '))
  }
  return { debug: () => {}, info: () => {}, warn: line, error: line }
}
