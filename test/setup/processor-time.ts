/**
 * Milliseconds of processor time that this thread has used. What is worked out without a pause is measured by it: the clock on
 * the wall also counts what other processes of a busy machine do meanwhile.
 */
export function processorTime(): number {
  // Since Node 23.9; tests run on 24.
  return process.threadCpuUsage().user / 1000
}
