/**
 * The context keys the interface names ("Known keys inside context"), in the order people need them, with the label that
 * page and cards give them.
 */
export const CONTEXT_KEYS: readonly (readonly [key: string, label: string])[] = [
  ['reason', 'Reason'],
  ['agent_name', 'Agent'],
  ['agent_purpose', 'Purpose of the agent'],
  ['tool', 'Tool'],
  ['tool_arguments', 'Tool arguments'],
  ['tool_arguments_fingerprint', 'Fingerprint of the arguments'],
  ['risk_arg_findings', 'Risk findings'],
  ['source', 'Source'],
]
