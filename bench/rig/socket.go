package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	textFrame, closeFrame, pingFrame, pongFrame = 1, 8, 9, 10
	longestMessage                              = 64 << 20
)

// socketExchange sends requests as messages of a WebSocket (RFC 6455). Servers do not fragment short messages, so it refuses
// fragments.
type socketExchange struct {
	load   *load
	worker int
	tally  *tally

	connection net.Conn
	reader     *bufio.Reader
	payload    []byte
}

func (e *socketExchange) open() error {
	if e.connection != nil {
		return nil
	}
	connection, err := net.DialTimeout("tcp", e.load.spec.Address, 10*time.Second)
	if err != nil {
		return err
	}
	connection.SetDeadline(time.Now().Add(answerTimeout))
	handshake := e.load.spec.headOf("GET", e.load.spec.keyOf(e.worker)) + "connection: Upgrade\r\nupgrade: websocket\r\n" +
		"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	e.reader = bufio.NewReaderSize(connection, bufferSize)
	_, err = connection.Write([]byte(handshake))
	if err == nil {
		var answer head
		answer, err = readHead(e.reader)
		if err == nil && !bytes.Contains(answer.first, []byte(" 101")) {
			err = fmt.Errorf("no WebSocket: %s", answer.first)
		}
	}
	if err != nil {
		connection.Close()
		return err
	}
	e.connection = connection
	return nil
}

func (e *socketExchange) close() {
	if e.connection != nil {
		e.connection.Write(clientFrame(closeFrame, nil))
		e.connection.Close()
		e.connection = nil
	}
}

func (e *socketExchange) send(n int, started time.Time) *failure {
	e.connection.SetDeadline(started.Add(answerTimeout))
	body := e.load.spec.Bodies[n%len(e.load.spec.Bodies)]
	if _, err := e.connection.Write(clientFrame(textFrame, []byte(body))); err != nil {
		return failed("connection", "writing a message: %v", err)
	}
	events := newEventReader(e.load, e.tally, started)
	for {
		kind, message, err := e.frame()
		if err != nil {
			return failed("connection", "reading a message: %v", err)
		}
		switch kind {
		case pingFrame:
			e.connection.Write(clientFrame(pongFrame, message))
		case textFrame:
			events.line(message, time.Now())
			if bytes.Contains(message, []byte(e.load.spec.Expect.Last)) {
				return events.verdict()
			}
			if bytes.Contains(message, []byte(`"type":"error"`)) {
				return failed("answer", "%.300s", message)
			}
		case pongFrame:
		default:
			return failed("connection", "a frame of type %d: %.300s", kind, message)
		}
	}
}

// frame reads a frame. Its payload is valid until the next one.
func (e *socketExchange) frame() (kind int, payload []byte, err error) {
	first, err := e.reader.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	second, err := e.reader.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	if first&0xf0 != 0x80 || second&0x80 != 0 {
		return 0, nil, fmt.Errorf("a fragment, an extension or a mask: %x %x", first, second)
	}
	length := uint64(second)
	if wide := map[byte]int{126: 2, 127: 8}[second]; wide > 0 {
		var bytes [8]byte
		if _, err := io.ReadFull(e.reader, bytes[8-wide:]); err != nil {
			return 0, nil, err
		}
		length = binary.BigEndian.Uint64(bytes[:])
	}
	if length > longestMessage {
		return 0, nil, fmt.Errorf("a message of %d bytes", length)
	}
	if uint64(cap(e.payload)) < length {
		e.payload = make([]byte, length)
	}
	e.payload = e.payload[:length]
	_, err = io.ReadFull(e.reader, e.payload)
	return int(first & 0x0f), e.payload, err
}

// clientFrame masks with zeros, which leaves the payload as it is.
func clientFrame(kind byte, payload []byte) []byte {
	frame := []byte{0x80 | kind}
	switch length := len(payload); {
	case length < 126:
		frame = append(frame, 0x80|byte(length))
	case length < 65_536:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(length))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(length))
	}
	return append(append(frame, 0, 0, 0, 0), payload...)
}
