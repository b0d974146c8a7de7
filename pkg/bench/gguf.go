package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// gguf is what a model's file says of itself.
type gguf struct{ name, quant string }

var errGGUF = errors.New("not a GGUF file")

// Bounds of what is read of a file's metadata.
const (
	maxKeys   = 10_000
	maxString = 1 << 20
)

// Types of metadata values.
const (
	ggufString = 8
	ggufArray  = 9
)

// ggufSizes are the bytes of the types with a fixed size, by number.
func ggufSizes() map[uint32]int64 {
	return map[uint32]int64{0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
}

// ggufTypes are the names of general.file_type.
func ggufTypes() map[uint32]string {
	return map[uint32]string{
		0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
		14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
		23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M",
		32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
	}
}

// readGGUF reads the metadata at the head of a file, as far as needed.
func readGGUF(r io.Reader) (g gguf, err error) {
	in := &ggufReader{r: bufio.NewReader(r)}
	if magic := in.u32(); magic != 0x46554747 || in.u32() < 2 {
		return g, errGGUF
	}
	in.u64() // tensors
	n := in.u64()
	if n > maxKeys {
		return g, errGGUF
	}
	for range n {
		key, kind := in.text(), in.u32()
		switch {
		case key == "general.name" && kind == ggufString:
			g.name = in.text()
		case key == "general.file_type" && ggufSizes()[kind] == 4:
			g.quant = ggufTypes()[in.u32()]
		default:
			in.skip(kind)
		}
		if in.err != nil {
			return g, in.err
		}
	}
	return g, nil
}

// ggufReader reads little-endian values; after an error all are zero.
type ggufReader struct {
	r   *bufio.Reader
	err error
}

func (g *ggufReader) fixed(b []byte) {
	if g.err == nil {
		_, g.err = io.ReadFull(g.r, b)
	}
}

func (g *ggufReader) u32() uint32 {
	var b [4]byte
	g.fixed(b[:])
	return binary.LittleEndian.Uint32(b[:])
}

func (g *ggufReader) u64() uint64 {
	var b [8]byte
	g.fixed(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

func (g *ggufReader) text() string {
	n := g.u64()
	if n > maxString {
		g.err = errGGUF
	}
	if g.err != nil {
		return ""
	}
	b := make([]byte, n)
	g.fixed(b)
	return string(b)
}

func (g *ggufReader) discard(n uint64) {
	if g.err == nil {
		_, g.err = io.CopyN(io.Discard, g.r, int64(min(n, 1<<40)))
	}
}

// skip passes over a value.
func (g *ggufReader) skip(kind uint32) {
	switch size := ggufSizes()[kind]; {
	case size > 0:
		g.discard(uint64(size))
	case kind == ggufString:
		g.discard(g.u64())
	case kind == ggufArray:
		of, n := g.u32(), g.u64()
		if size := ggufSizes()[of]; size > 0 && n < 1<<36 {
			g.discard(n * uint64(size))
			return
		}
		for range n {
			if g.skip(of); g.err != nil {
				return
			}
		}
	default:
		g.err = errGGUF
	}
}
