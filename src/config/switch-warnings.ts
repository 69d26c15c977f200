interface Switches {
  CALLBACK_ALLOW_PRIVATE: string
  TEAMS_ALLOW_UNAUTHENTICATED: string
  FIDO_METADATA_FILE?: string | undefined
  FIDO_METADATA_ROOTS?: string | undefined
}

/** Returns warnings about settings that open what is otherwise closed, or that have no effect. */
export function switchWarnings(values: Switches): string[] {
  const warnings: string[] = []
  if (values.CALLBACK_ALLOW_PRIVATE === '1')
    warnings.push(
      'CALLBACK_ALLOW_PRIVATE: lets callers have this machine and private networks called, also over http:; for development only',
    )
  if (values.TEAMS_ALLOW_UNAUTHENTICATED === '1')
    warnings.push(
      'TEAMS_ALLOW_UNAUTHENTICATED: believes any client that claims to be Teams, as any person; for local test clients only',
    )
  if (values.FIDO_METADATA_ROOTS !== undefined && values.FIDO_METADATA_FILE === undefined)
    warnings.push('FIDO_METADATA_ROOTS: has no effect without FIDO_METADATA_FILE, the file that they sign')
  return warnings
}
