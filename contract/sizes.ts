/** What requests and answers weigh, counted by the dialects: what estimates of tokens start from. */

/** What a prompt weighs. */
export interface InputSize {
  /** UTF-8 bytes of all text: contents, tool definitions, schemas. */
  textBytes: number
  images: number
  /** Decoded bytes of audio parts. */
  audioBytes: number
  /** Decoded bytes of inline files. */
  fileBytes: number
  tools: number
  /** Prompt tokens that are known as such: token arrays, and what an upstream keeps of earlier turns. */
  tokens?: number
}

/** Model output that went to the client. */
export interface Delivered {
  /** Deltas (text, reasoning, tool arguments). */
  deltas: number
  /** Their UTF-8 bytes, roughly. */
  bytes: number
  /** Pictures. */
  images?: number
}
