/** Waits at most `ms` for the work. @returns undefined when it takes longer. @throws what the work threw in time */
export async function within<Value>(ms: number, work: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
