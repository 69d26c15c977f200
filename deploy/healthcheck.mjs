// HEALTHCHECK of the image: exit code 0 when the service in this container can do its work, that is, the store answers.
const port = process.env.PORT || '3000'
try {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(4_000) })
  process.stdout.write(`${answer.status} ${await answer.text()}\n`)
  process.exitCode = answer.ok ? 0 : 1
} catch (error) {
  process.stdout.write(`no answer on port ${port}: ${error.cause?.code ?? error.name}\n`)
  process.exitCode = 1
}
