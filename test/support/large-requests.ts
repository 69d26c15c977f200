/** That many fields. */
export const many = (count: number, make: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`field_${index}`, make(index)]))

/** Requests at the edge of what the interface lets in, each in another way. */
export const LARGE: readonly { name: string; context: object; action?: string }[] = [
  { name: '16 KiB in one value', context: { tool_arguments: 'x'.repeat(16_000) } },
  { name: '16 KiB of quotes, which double in JSON', context: { reason: '"'.repeat(16_000) } },
  { name: '16 KiB in one name', context: { ['k'.repeat(16_000)]: 1 } },
  { name: '2 000 fields', context: many(2000, (index) => index) },
  { name: '2 000 nodes below one field', context: { tool_arguments: many(2000, () => null) } },
  { name: '400 long fields', context: many(400, () => 'long words '.repeat(40)) },
  {
    name: '500 hidden characters, no two alike in a row',
    context: { reason: '\u202e\u2066'.repeat(2000) },
    action: '\u202e\u2066'.repeat(250),
  },
  { name: 'floods of line breaks', context: { reason: 'a\n\n'.repeat(3000) }, action: 'b\n'.repeat(250) },
  { name: 'an action of 500 characters', context: {}, action: '\u{1f600}'.repeat(500) },
  {
    name: 'hundreds of findings',
    context: {
      risk_arg_findings: Array.from({ length: 300 }, () => ({ severity: 'low', snippet: '"x" '.repeat(20) })),
    },
  },
  {
    name: 'everything at once',
    context: {
      ...many(60, () => ({ 'a "quoted" name': ['"'.repeat(300), '\\'.repeat(300)] })),
      ...Object.fromEntries(
        ['reason', 'agent_name', 'agent_purpose', 'tool', 'source'].map((key) => [key, 'w\n'.repeat(800)]),
      ),
      risk_arg_findings: Array.from({ length: 30 }, () => ({
        severity: 's'.repeat(300),
        detector: 'd'.repeat(300),
        snippet: '"\n'.repeat(300),
      })),
    },
    action: '"'.repeat(500),
  },
]
