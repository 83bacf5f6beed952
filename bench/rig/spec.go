package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Spec is one measurement: requests, how many at once, and what a right answer looks like.
type Spec struct {
	// Address is host:port.
	Address string `json:"address"`
	Path    string `json:"path"`
	// Headers beside host, content-type and content-length. "{key}" in a value stands for the key of the request.
	Headers map[string]string `json:"headers"`
	Keys    Keys              `json:"keys"`
	// Bodies are sent in turn. With WebSocket each is a text message.
	Bodies []string `json:"bodies"`
	// Connections is the number of requests at a time; with a Rate the largest.
	Connections int `json:"connections"`
	// Rate of requests a second that are sent however slow the answers are; 0: each connection waits for its answer.
	Rate       float64 `json:"rate"`
	DurationMs int     `json:"durationMs"`
	// Each ends a connection's work after so many requests; 0: the duration alone does.
	Each int `json:"each"`
	// RampMs spreads the first requests of the connections.
	RampMs    int    `json:"rampMs"`
	WebSocket bool   `json:"webSocket"`
	Expect    Expect `json:"expect"`
	// StallMs is the longest pause between two tokens that is no stall; 0: pauses are not judged.
	StallMs int `json:"stallMs"`
	// Announce prints a line when every connection has its first token.
	Announce bool `json:"announce"`
}

// Keys of requests: prefix and a number of seven digits.
type Keys struct {
	Prefix string `json:"prefix"`
	Count  int    `json:"count"`
	// Spread: each request has another key, by chance; otherwise a connection keeps its own.
	Spread bool `json:"spread"`
}

// Expect describes a right answer.
type Expect struct {
	// Text must be in the body of an answer that is no stream.
	Text string `json:"text"`
	// Tokens is the number of events that contain Token; 0: the answer is no stream.
	Tokens int    `json:"tokens"`
	Token  string `json:"token"`
	// Last must be in an event after all tokens.
	Last string `json:"last"`
}

func (s Spec) validate() error {
	if s.Address == "" || s.Path == "" || len(s.Bodies) == 0 || s.Connections < 1 || s.DurationMs < 1 {
		return errors.New("the spec needs address, path, bodies, connections and durationMs")
	}
	if s.Expect.Tokens > 0 && s.Expect.Token == "" || s.Expect.Tokens == 0 && s.Expect.Text == "" {
		return errors.New("the spec needs the text, or the token, of a right answer")
	}
	return nil
}

func (s Spec) keyOf(worker int) string {
	if s.Keys.Count == 0 {
		return ""
	}
	number := worker % s.Keys.Count
	if s.Keys.Spread {
		number = rand.IntN(s.Keys.Count)
	}
	return fmt.Sprintf("%s%07d", s.Keys.Prefix, number)
}

// headOf ends before the content-length.
func (s Spec) headOf(method, key string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nhost: %s\r\n", method, s.Path, s.Address)
	for name, value := range s.Headers {
		fmt.Fprintf(&text, "%s: %s\r\n", name, strings.ReplaceAll(value, "{key}", key))
	}
	return text.String()
}

// request is reused while key and body stay the same.
type request struct {
	key   string
	body  int
	bytes []byte
}

func (r *request) fill(s *Spec, worker, number int) []byte {
	key, body := s.keyOf(worker), number%len(s.Bodies)
	if r.bytes == nil || key != r.key || body != r.body {
		r.key, r.body = key, body
		r.bytes = append(r.bytes[:0], s.headOf("POST", key)...)
		r.bytes = append(r.bytes, "content-type: application/json\r\ncontent-length: "...)
		r.bytes = strconv.AppendInt(r.bytes, int64(len(s.Bodies[body])), 10)
		r.bytes = append(r.bytes, "\r\n\r\n"...)
		r.bytes = append(r.bytes, s.Bodies[body]...)
	}
	return r.bytes
}
