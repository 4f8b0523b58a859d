#!/usr/bin/env node
// Here, and not in dist, so that it is there when npm links it, before anything is built.
import '../dist/cli/main.js'
