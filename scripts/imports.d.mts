export interface SourceFile {
  path: string
  text: string
  imports: { target: string; typeOnly: boolean }[]
}

export const ROOMS: string[]
export const FLOORS: Record<string, string[]>
export function sourcesIn(folder: string): SourceFile[]
export function readSource(path: string): SourceFile
export function code(text: string): string
