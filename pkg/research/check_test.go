package research

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"legwork/pkg/web"
	"legwork/pkg/web/webtest"
)

// corpus reads the test pages as sources 1, 2, … in the order of their names.
func corpus(t testing.TB, without ...string) (sources []*source, number map[string]int) {
	t.Helper()
	pages := webtest.Pages()
	number = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if slices.Contains(without, name) {
			continue
		}
		u := &url.URL{Scheme: "https", Host: "docs.example.org", Path: "/" + name}
		page, err := web.ReadBytes(pages[name], "text/html", u)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := newSource(page, web.Hit{})
		s.n = len(sources) + 1
		number[name] = s.n
		sources = append(sources, s)
	}
	return sources, number
}

type trueClaim struct{ page, text string }

func trueClaims(t testing.TB) []trueClaim {
	t.Helper()
	data, err := os.ReadFile("testdata/claims.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []trueClaim
	for line := range strings.SplitSeq(string(data), "\n") {
		if page, text, ok := strings.Cut(line, " | "); ok && !strings.HasPrefix(line, "#") {
			out = append(out, trueClaim{page, text})
		}
	}
	return out
}

func checked(sources []*source, question, answer string) (string, []Claim) {
	r := &run{req: Request{Question: question}, sources: sources}
	return r.checkAnswer(answer)
}

const evalQuestion = "What should I know about this?"

// cite puts a citation before the final dot.
func cite(text string, n int) string {
	return strings.TrimSuffix(text, ".") + fmt.Sprintf(" [%d].", n)
}

// R04: at most 5 % of true citations are marked.
func TestTrueCitationsStand(t *testing.T) {
	t.Parallel()
	sources, number := corpus(t)
	claims := trueClaims(t)
	marked := 0
	for _, c := range claims {
		answer, got := checked(sources, evalQuestion, cite(c.text, number[c.page]))
		if len(got) != 1 || got[0].Verdict == Unsupported || !slices.Contains(got[0].Sources, number[c.page]) {
			marked++
			why := ""
			if len(got) > 0 {
				why = got[0].Verdict + ": " + got[0].Why
			}
			t.Logf("marked: %s (%s)", answer, why)
		}
	}
	t.Logf("%d of %d true citations marked", marked, len(claims))
	if marked*20 > len(claims) {
		t.Errorf("more than 5 %% marked")
	}
}

// R04: a wrong number of a page is never left standing. The right page is there,
// so nearly all of them can be corrected.
func TestWrongPageCaught(t *testing.T) {
	t.Parallel()
	sources, number := corpus(t)
	caught, corrected, all := 0, 0, 0
	for _, c := range trueClaims(t) {
		for name, n := range number {
			if name == c.page {
				continue
			}
			all++
			answer, got := checked(sources, evalQuestion, cite(c.text, n))
			switch {
			case strings.Contains(answer, fmt.Sprintf("[%d]", n)):
				t.Errorf("left standing: %s, %s says it", answer, c.page)
			case len(got) == 1 && got[0].Verdict == Corrected && slices.Contains(got[0].Sources, number[c.page]):
				corrected++
				caught++
			default:
				caught++
			}
		}
	}
	t.Logf("%d of %d caught, %d corrected to the right page", caught, all, corrected)
}

// R04: the page that says it is not among the sources at all.
func TestClaimFromElsewhereCaught(t *testing.T) {
	t.Parallel()
	all := 0
	for _, c := range trueClaims(t) {
		sources, number := corpus(t, c.page)
		for _, n := range number {
			all++
			answer, _ := checked(sources, evalQuestion, cite(c.text, n))
			if regexp.MustCompile(`\[\d+\]`).MatchString(answer) {
				t.Errorf("borne out without its page: %s (of %s)", answer, c.page)
			}
		}
	}
	t.Logf("%d planted", all)
}

// R04: every figure of a true claim is changed in turn.
func TestWrongFigureCaught(t *testing.T) {
	t.Parallel()
	sources, number := corpus(t)
	digits := regexp.MustCompile(`\d[\d,.]*\d|\d`)
	all := 0
	for _, c := range trueClaims(t) {
		for _, at := range digits.FindAllStringIndex(c.text, -1) {
			for _, wrong := range otherFigures(c.text[at[0]:at[1]]) {
				if slices.ContainsFunc(sources[number[c.page]-1].evidence.figures, func(f []figure) bool {
					return figure{text: wrong, value: must(strconv.ParseFloat(wrong, 64))}.in(f)
				}) {
					continue // a figure of the page: another kind of mistake
				}
				all++
				text := c.text[:at[0]] + wrong + c.text[at[1]:]
				answer, _ := checked(sources, evalQuestion, cite(text, number[c.page]))
				if regexp.MustCompile(`\[\d+\]`).MatchString(answer) {
					t.Errorf("wrong figure left standing: %s", answer)
				}
			}
		}
	}
	t.Logf("%d planted", all)
}

func otherFigures(s string) []string {
	value, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return []string{"97"}
	}
	return []string{strconv.FormatFloat(value*2+1, 'f', -1, 64), strconv.FormatFloat(value+0.7, 'f', -1, 64)}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Whatever a model writes, the check neither panics nor loses its text.
func FuzzCheckAnswer(f *testing.F) {
	for _, seed := range []string{"A b [1]. C [2][9]\n\n| a | b [1] |\n```\nx[1]\n```", "【1†x】 [^2] [source 3, 4-6] `a[1]` \"x y z\" 12,3.4.5% 0-9-1 ~3 [1](u)", "\xff[1\xff] ’’ 1’s é1. 東京[1]。"} {
		f.Add(seed)
	}
	sources, _ := corpus(f)
	f.Fuzz(func(t *testing.T, answer string) {
		got, _ := checked(sources, "what is it?", answer)
		if strings.ContainsAny(answer, "[【") {
			return
		}
		if want, got := strings.Join(strings.Fields(answer), ""), strings.Join(strings.Fields(ownMarks.ReplaceAllString(got, "")), ""); got != want {
			t.Errorf("text without citations changed: %q became %q", want, got)
		}
	})
}

var ownMarks = regexp.MustCompile(`\[\d*\??\]`)
