// Loaded by NODE_OPTIONS before a program that no store proxy can stand before: kills the process at the point of DIE_AT (die-at.ts).
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

const point = JSON.parse(process.env.DIE_AT ?? 'null')
const kill = () => process.kill(process.pid, 'SIGKILL')

if (point !== null && isMainThread) 'step' in point ? dieAtStep() : dieAtWrite()

function dieAtWrite() {
  const { write } = Socket.prototype
  const marks = [point.collection, point.field].map((mark) => `${mark}\0`)
  let sprung = false
  Socket.prototype.write = function (chunk, ...rest) {
    const isAimed = !sprung && Buffer.isBuffer(chunk) && marks.every((mark) => chunk.includes(mark))
    if (!isAimed) return write.call(this, chunk, ...rest)
    sprung = true
    if (point.side === 'before') return kill()
    // One command at a time is under way on a connection: what comes next is the answer.
    this.prependOnceListener('data', kill)
    return write.call(this, chunk, ...rest)
  }
}

function dieAtStep() {
  let steps = 0
  const counted = (work) =>
    function (...given) {
      steps += 1
      return steps === point.step ? kill() : work.apply(this, given)
    }
  const open = counted(promises.open)
  promises.open = async (...given) => {
    const file = await open(...given)
    for (const name of ['write', 'writeFile', 'sync']) file[name] = counted(file[name])
    return file
  }
  promises.writeFile = counted(promises.writeFile)
  promises.rename = counted(promises.rename)
  syncBuiltinESMExports()
}
