#!/usr/bin/env node
import { runCaller } from './run-caller.ts'

// Not `process.exit`: what was written to a pipe would be lost.
process.exitCode = await runCaller(process.argv.slice(2))
