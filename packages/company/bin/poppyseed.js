#!/usr/bin/env node
// Here, and not in dist, so that it is there when npm links it, before anything is built.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`poppyseed needs Node 22.19 or later; this is Node ${process.versions.node}.`)
  process.exitCode = 1
} else {
  await import('../dist/cli/main.js')
}
