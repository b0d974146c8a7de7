package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"legwork/pkg/proc"
)

const (
	maxPDFPages = 300
	pdfTimeout  = 20 * time.Second
)

// tempFile is a file of ours in the temporary folder.
type tempFile struct{ path string }

// remove deletes it. A leftover in the temporary folder harms nobody.
func (f *tempFile) remove() {
	_ = os.Remove(f.path) //nolint:gosec,nolintlint // the name comes from os.CreateTemp; gosec sees that on some runs only
}

// savePDF writes a PDF to a temporary file; it never stands in memory.
func (r *response) savePDF(ctx context.Context, body io.Reader) error {
	file, err := os.CreateTemp("", "legwork-*.pdf")
	if err != nil {
		return fail(FailUnreadable, err, "the PDF could not be stored: %s", err)
	}
	n, copyErr := io.CopyN(file, body, maxPDFBytes)
	closeErr := file.Close()
	r.pdf = &tempFile{file.Name()}
	switch {
	case errors.Is(copyErr, io.EOF) && closeErr == nil:
		return nil
	case copyErr == nil && closeErr == nil:
		err = fail(FailUnreadable, nil, "the PDF is larger than %d MiB; not read", maxPDFBytes>>20)
	case errors.Is(copyErr, errBomb):
		err = r.interrupted(ctx, copyErr)
	case ctx.Err() != nil:
		err = fail(FailTimeout, copyErr, "the time was up after %d bytes of the PDF", n)
	default:
		err = fail(FailUnreachable, errors.Join(copyErr, closeErr), "the connection broke off after %d bytes of the PDF", n)
	}
	r.discard()
	return err
}

// readPDF runs pdftotext, when the machine has it, in a process of its own: PDF
// readers loop and crash on odd files.
func (f *Fetcher) readPDF(ctx context.Context, got *response, page Page) (Page, error) {
	page.Kind = KindPDF
	program := f.options.pdfToText
	if program == "" {
		program, _ = exec.LookPath("pdftotext")
	}
	if program == "" || program == "-" {
		return Page{}, fail(FailUnreadable, nil, "it is a PDF and pdftotext is not installed (package poppler-utils)")
	}
	out := &cappedBuffer{limit: maxTextBytes}
	exit, err := proc.Run(ctx, proc.Spec{
		Argv:   []string{program, "-q", "-enc", "UTF-8", "-l", strconv.Itoa(maxPDFPages), got.pdf.path, "-"},
		Stdout: out, Timeout: pdfTimeout,
	})
	text := string(clean(out.buf.Bytes()))
	switch {
	case err != nil:
		return Page{}, fail(FailUnreadable, err, "it is a PDF and pdftotext could not be run: %s", err)
	case exit.TimedOut || exit.Cancelled:
		page.Cut = "the PDF took too long; the first pages were read"
	case exit.Code != 0:
		return Page{}, fail(FailUnreadable, nil, "it is a PDF that pdftotext cannot read (%s)", exit.String())
	case out.full:
		page.Cut = fmt.Sprintf("only the first %d MiB of the PDF's text were read", maxTextBytes>>20)
	case strings.Count(text, "\f") >= maxPDFPages:
		page.Cut = fmt.Sprintf("only the first %d pages of the PDF were read", maxPDFPages)
	}
	page.Text = pdfText(text)
	page.Words = countWords(page.Text)
	if page.Words < minWords {
		return Page{}, fail(FailUnreadable, nil, "it is a PDF without text (scanned pages, probably)")
	}
	page.Title = firstOf(firstLine(page.Text), textTitle("", got.url))
	return page, nil
}

// pdfText joins pages and drops the spaces that layout leaves behind.
func pdfText(text string) string {
	text = strings.ReplaceAll(visibleText(strings.ReplaceAll(text, "\f", "\n\n")), "\r\n", "\n")
	return tidyMarkdown(text)
}

func firstLine(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); countWords(line) > 0 {
			return clip(line, 120)
		}
	}
	return ""
}

// cappedBuffer keeps the first bytes and swallows the rest.
type cappedBuffer struct {
	buf   bytes.Buffer
	limit int
	full  bool
}

func (c *cappedBuffer) Write(p []byte) (int, error) {
	if room := c.limit - c.buf.Len(); len(p) > room {
		c.full = true
		c.buf.Write(p[:max(room, 0)])
		return len(p), nil
	}
	c.buf.Write(p)
	return len(p), nil
}
