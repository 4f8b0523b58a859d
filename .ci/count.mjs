// Reads vitest's JSON report and ends with "N passed, N failed". Runs on the machine's own Node, which may be old.
import { readFileSync } from 'node:fs'

const [, , file, failedSteps] = process.argv

let passed = 0
let failed = 0
let skipped = 0
try {
  const report = JSON.parse(readFileSync(file, 'utf8'))
  passed = report.numPassedTests
  failed = report.numFailedTests
  skipped = report.numPendingTests + report.numTodoTests
  // A file that doesn't load has no tests, and a run with a stray error may have no failed one: both count.
  for (const { status, assertionResults, name } of report.testResults) {
    if (status !== 'failed' || assertionResults.some((result) => result.status === 'failed')) continue
    console.log(`failed to load: ${name}`)
    failed += 1
  }
} catch {
  console.log('the tests left no report')
}

for (const step of failedSteps ? failedSteps.split('; ') : []) {
  console.log(`failed: ${step}`)
  // A failed test makes `npm test` fail too; count it once.
  if (!step.startsWith('npm test') || failed === 0) failed += 1
}
if (skipped > 0) console.log(`${skipped} skipped`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
