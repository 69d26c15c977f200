/**
 * Keeps a failed write to stdout or stderr from ending the process: only the line is lost. A reader that is gone (`| head`)
 * is not reported; a full disk is reported once.
 */
export function outliveOutput(onLost: () => void = () => undefined): void {
  let told = false
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (told || error.code === 'EPIPE') return
    told = true
    process.stderr.write(`writing the output failed: ${error.message}; changes made before this stay\n`)
    onLost()
  })
}
