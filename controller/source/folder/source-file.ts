/** The text of a file, or why it cannot be read. */
export type SourceFile = { path: string; text: string } | { path: string; unreadable: string }
