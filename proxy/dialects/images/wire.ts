/** What the gateway writes in the images API: OpenAI's own types, widened where vendors differ. Types only. */
import type {
  Image,
  ImageEditParams,
  ImageEditStreamEvent,
  ImageGenCompletedEvent,
  ImageGenerateParams,
  ImageGenPartialImageEvent,
  ImageGenStreamEvent,
  ImagesResponse,
} from 'openai/resources'
import type { Responses } from 'openai/resources/responses/responses'
import type { FieldsOf, Sparse, With } from '../core/json/wire.ts'

// --- Requests ---------------------------------------------------------------------------------------------------------

export type Request = Pick<ImageGenerateParams, 'prompt' | 'user'> & { model: string } & Options

/** The client's values, which may be another vendor's. */
export type Options = FieldsOf<
  Pick<
    ImageGenerateParams & ImageEditParams,
    | 'background'
    | 'input_fidelity'
    | 'moderation'
    | 'output_compression'
    | 'output_format'
    | 'quality'
    | 'size'
  >
>
export type Option = keyof Options

/** The JSON form of a request for edits. The SDK always sends a form. */
export type JsonEdit = Request & { images: ImageUrl[] }
export type ImageUrl = { image_url: string }

/** The tool of the responses API that makes images, with the client's values. */
export type ImageTool = FieldsOf<Responses.Tool.ImageGeneration>
export type Mask = Responses.Tool.ImageGeneration.InputImageMask

// --- Answers ----------------------------------------------------------------------------------------------------------

/** The upstream's values: vendors have their own. */
export type Making = { background?: string; output_format?: string; quality?: string; size?: string }

export type Answer = Sparse<With<ImagesResponse, Making & { data: Image[]; usage?: Usage }>>
export type AnswerImage = Sparse<Image>

/** `url`: of vendors that send no bytes. Only the event of the last image has the usage, that of all images. */
export type Event = Sparse<
  With<
    Omit<ImageGenCompletedEvent, 'type'> & Partial<Pick<ImageGenPartialImageEvent, 'partial_image_index'>>,
    Required<Making> & { b64_json?: string; url?: string; usage?: Usage }
  >
>
export type EventType = (ImageGenStreamEvent | ImageEditStreamEvent)['type']

/** OpenAI always sends the details. The gateway omits them if it cannot tell text from image tokens. */
export type Usage = Sparse<
  With<ImagesResponse.Usage, Partial<Pick<ImagesResponse.Usage, 'input_tokens_details'>>>
>
