package offload

import "legwork/pkg/runners"

// boundedScan keeps what the parsers need of a text: all of it up to a limit, else both ends.
type boundedScan struct {
	hint runners.Hint
	head []byte
	tail ring
}

const scanHead = 3 << 20

func newScan(h runners.Hint) *boundedScan { return &boundedScan{hint: h, tail: ring{max: scanHead}} }

func (s *boundedScan) Write(p []byte) (int, error) {
	n := min(len(p), scanHead-len(s.head))
	s.head = append(s.head, p[:n]...)
	s.tail.Write(p[n:])
	return len(p), nil
}

func (s *boundedScan) Result() runners.Result {
	return runners.Parse(append(s.head, s.tail.bytes()...), s.hint)
}
