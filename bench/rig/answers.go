package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	model = "bench-upstream"
	token = " consectetur"
	// Every answer reports this usage, so that a bill follows from the number of answers.
	inputTokens, outputTokens = 60, 100
)

type object = map[string]any

// frames are the events of a stream: those before the content, one with content, and those after it.
type frames struct{ before, content, after []string }

var text = strings.Repeat("Lorem ipsum dolor sit amet. ", 10)

// jsonAnswers has the body of an answer that is no stream, by the end of the path.
var jsonAnswers = map[string][]byte{
	"/chat/completions": encode(object{
		"id": "chatcmpl-bench0000000000000000000", "object": "chat.completion", "created": 1760000000, "model": model,
		"choices": []object{{
			"index": 0, "message": object{"role": "assistant", "content": text, "refusal": nil},
			"logprobs": nil, "finish_reason": "stop",
		}},
		"usage": chatUsage, "service_tier": "default",
	}),
	"/messages": encode(object{
		"id": "msg_bench0000000000000000", "type": "message", "role": "assistant", "model": model,
		"content":     []object{{"type": "text", "text": text}},
		"stop_reason": "end_turn", "stop_sequence": nil,
		"usage": object{"input_tokens": inputTokens, "output_tokens": outputTokens},
	}),
	"/responses": encode(response("completed", []object{item("completed", text)})),
	"/embeddings": encode(object{
		"object": "list", "model": model,
		"data":  []object{{"object": "embedding", "index": 0, "embedding": embedding()}},
		"usage": object{"prompt_tokens": inputTokens, "total_tokens": inputTokens},
	}),
}

// streamFrames makes the events of a stream with so many events of content, by the end of the path.
var streamFrames = map[string]func(events int) frames{
	"/chat/completions": chatFrames,
	"/messages":         messagesFrames,
	"/responses":        responsesFrames,
}

var chatUsage = object{
	"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens + outputTokens,
}

func embedding() []float64 {
	values := make([]float64, 1536)
	for i := range values {
		values[i] = float64(i%199-99) / 4096
	}
	return values
}

func chatFrames(int) frames {
	chunk := func(choices []object, usage any) string {
		return data(object{
			"id": "chatcmpl-bench0000000000000000000", "object": "chat.completion.chunk", "created": 1760000000,
			"model": model, "service_tier": "default", "system_fingerprint": "fp_bench",
			"choices": choices, "usage": usage,
		})
	}
	delta := func(delta object, reason any) string {
		return chunk([]object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": reason}}, nil)
	}
	return frames{
		before:  []string{delta(object{"role": "assistant", "content": "", "refusal": nil}, nil)},
		content: []string{delta(object{"content": token}, nil)},
		after:   []string{delta(object{}, "stop"), chunk([]object{}, chatUsage), "data: [DONE]\n\n"},
	}
}

func messagesFrames(int) frames {
	block := func(kind string, fields object) string {
		fields["type"] = kind
		return "event: " + kind + "\n" + data(fields)
	}
	message := object{
		"id": "msg_bench0000000000000000", "type": "message", "role": "assistant", "model": model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": inputTokens, "output_tokens": 1},
	}
	empty := object{"type": "text", "text": ""}
	return frames{
		before: []string{
			block("message_start", object{"message": message}),
			block("content_block_start", object{"index": 0, "content_block": empty}),
		},
		content: []string{
			block("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": token}}),
		},
		after: []string{
			block("content_block_stop", object{"index": 0}),
			block("message_delta", object{
				"delta": object{"stop_reason": "end_turn", "stop_sequence": nil},
				"usage": object{"output_tokens": outputTokens},
			}),
			block("message_stop", object{}),
		},
	}
}

func responsesFrames(events int) frames {
	number := 0
	event := func(kind string, fields object) string {
		fields["type"], fields["sequence_number"] = kind, number
		number++
		return "event: " + kind + "\n" + data(fields)
	}
	at := func(fields object) object {
		fields["item_id"], fields["output_index"], fields["content_index"] = "msg_bench", 0, 0
		return fields
	}
	whole := strings.Repeat(token, events)
	started := item("in_progress", "")
	started["content"] = []object{}
	result := frames{before: []string{
		event("response.created", object{"response": response("in_progress", []object{})}),
		event("response.in_progress", object{"response": response("in_progress", []object{})}),
		event("response.output_item.added", object{"output_index": 0, "item": started}),
		event("response.content_part.added", at(object{"part": part("")})),
	}}
	for range events {
		result.content = append(result.content, event("response.output_text.delta", at(object{"delta": token, "logprobs": []object{}})))
	}
	done := item("completed", whole)
	result.after = []string{
		event("response.output_text.done", at(object{"text": whole, "logprobs": []object{}})),
		event("response.content_part.done", at(object{"part": part(whole)})),
		event("response.output_item.done", object{"output_index": 0, "item": done}),
		event("response.completed", object{"response": response("completed", []object{done})}),
	}
	return result
}

func part(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
}

func item(status, text string) object {
	return object{
		"id": "msg_bench", "type": "message", "role": "assistant", "status": status, "content": []object{part(text)},
	}
}

func response(status string, output []object) object {
	result := object{
		"id": "resp_bench0000000000000000", "object": "response", "created_at": 1760000000, "status": status,
		"model": model, "output": output, "error": nil, "incomplete_details": nil, "instructions": nil,
		"metadata": object{}, "parallel_tool_calls": true, "temperature": 1, "top_p": 1, "tool_choice": "auto",
		"tools": []object{}, "usage": nil, "store": false, "text": object{"format": object{"type": "text"}},
	}
	if status == "completed" {
		result["usage"] = object{
			"input_tokens": inputTokens, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": outputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": inputTokens + outputTokens,
		}
	}
	return result
}

func data(value any) string { return fmt.Sprintf("data: %s\n\n", encode(value)) }

// encode panics for a value that JSON cannot express: all values are constants of this file.
func encode(value any) []byte {
	bytes, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return bytes
}
