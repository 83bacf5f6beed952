package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"strconv"
)

var errHead = errors.New("not an HTTP/1.1 head")

// head is what both ends need of a request or an answer. Its slices are valid until the next read.
type head struct {
	// first is the request line or the status line.
	first []byte
	// length is -1 without a content-length.
	length  int64
	chunked bool
	// closes is true when the sender closes the connection after the message.
	closes bool
	size   int
}

func readHead(reader *bufio.Reader) (head, error) {
	result := head{length: -1}
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return result, err
		}
		result.size += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if result.first == nil {
				return result, errHead
			}
			return result, nil
		}
		if result.first == nil {
			// A copy: the next lines may overwrite the buffer.
			result.first = append([]byte(nil), line...)
			continue
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			return result, errHead
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if result.length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return result, errHead
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			result.chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("connection")):
			result.closes = bytes.EqualFold(value, []byte("close"))
		}
	}
}

// discardBody reads the body of a request; it returns its size.
func discardBody(reader *bufio.Reader, request head) (int64, error) {
	if !request.chunked {
		return discard(reader, max(request.length, 0))
	}
	size, err := io.Copy(io.Discard, httputil.NewChunkedReader(reader))
	if err == nil {
		// The chunked reader leaves the blank line after the last chunk.
		_, err = reader.ReadSlice('\n')
	}
	return size, err
}

func discard(reader *bufio.Reader, length int64) (int64, error) {
	for left := length; left > 0; {
		n, err := reader.Discard(int(min(left, 1<<30)))
		if left -= int64(n); err != nil {
			return length - left, err
		}
	}
	return length, nil
}
