/** Sizes of requests and answers, counted by the dialects. Estimates of tokens start from them. */

/** Size of a prompt. */
export interface InputSize {
  /** Weight (textWeight) of all text: content, tool definitions, schemas. */
  textBytes: number
  images: number
  /** Decoded bytes of audio parts. */
  audioBytes: number
  /** Decoded bytes of inline files. */
  fileBytes: number
  tools: number
  /** Prompt tokens that are known exactly: token arrays, and earlier turns that an upstream stores. */
  tokens?: number
}

/** Model output that was sent to the client. */
export interface Delivered {
  /** Deltas (text, reasoning, tool arguments). */
  deltas: number
  /** Their weight (textWeight), roughly. */
  bytes: number
  images?: number
  /** How they were made, as far as the answer says it. */
  imageKind?: ImageKind
}

/** What an image is priced by. Absent: unknown, or left to the upstream. */
export interface ImageKind {
  /** `<width>x<height>` */
  size?: string
  quality?: string
}
