package runners

import (
	"encoding/json"
	"strings"
)

// goEvent is one line of go test -json. Build events came with Go 1.24; before
// that the compiler's lines stand plain among the events.
type goEvent struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

func sniffGoJSON(t *Text) match {
	first, last := -1, -1
	for i := range t.Len() {
		l := t.Line(i)
		if (strings.HasPrefix(l, `{"Time":"`) || strings.HasPrefix(l, `{"ImportPath":"`)) && strings.Contains(l, `"Action":"`) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return match{}
	}
	return span(scoreCertain+2, first, last+1)
}

func parseGoJSON(t *Text, f *finding) {
	r := &goRun{verbose: true}
	byName := map[string]*goPkg{}
	builds, failed := map[string][]string{}, map[string]bool{}
	var loose []string
	for i := range t.Len() {
		l := t.Line(i)
		var e goEvent
		if !strings.HasPrefix(l, "{") || json.Unmarshal([]byte(l), &e) != nil || e.Action == "" {
			loose = append(loose, l)
			continue
		}
		switch e.Action {
		case "build-output":
			builds[e.ImportPath] = append(builds[e.ImportPath], strings.TrimSuffix(e.Output, "\n"))
			continue
		case "build-fail":
			goBuildErrors(t, builds[e.ImportPath], f)
			failed[e.ImportPath] = true
			f.worse(StateBuildFailed)
			continue
		}
		p := byName[e.Package]
		if p == nil {
			p = newGoPkg(e.Package)
			byName[e.Package] = p
			r.pkgs = append(r.pkgs, p)
		}
		p.event(e)
	}
	for path, out := range builds { // cut before the build's end
		if !failed[path] {
			goBuildErrors(t, out, f)
		}
	}
	if len(f.BuildErrors) > 0 {
		f.worse(StateBuildFailed)
	}
	for _, p := range r.pkgs {
		r.cut = r.cut || p.result == ""
		if strings.Contains(p.note, "build failed") && len(f.BuildErrors) == 0 {
			p.out = append(p.out, loose...)
		} else if len(f.BuildErrors) > 0 {
			p.note = strings.ReplaceAll(p.note, "build failed", "build-failed]")
		}
	}
	r.report(t, f)
}

// event applies one event to its package.
func (p *goPkg) event(e goEvent) {
	switch e.Action {
	case "run":
		p.test(e.Test).runs++
	case "output":
		p.jsonOutput(e)
	case "pass", "fail", "skip":
		if e.Test != "" {
			x := p.test(e.Test)
			x.results = append(x.results, strings.ToUpper(e.Action))
			return
		}
		p.result = map[string]string{"pass": "ok", "fail": "FAIL", "skip": "?"}[e.Action]
		if e.FailedBuild != "" && p.note == "" {
			p.note = "[build failed]"
		}
	}
}

// jsonOutput keeps a test's own output; the lines that only repeat an event go.
func (p *goPkg) jsonOutput(e goEvent) {
	l := strings.TrimSuffix(e.Output, "\n")
	if m := goPkgLine().FindStringSubmatch(l); m != nil && e.Test == "" {
		if i := strings.IndexByte(m[3], '['); i >= 0 {
			p.note = m[3][i:]
		}
		return
	}
	if _, ok := goSwitch(l); ok || e.Test != "" && goResult().MatchString(l) && strings.Contains(l, e.Test) || e.Test == "" && (l == "PASS" || l == "FAIL") {
		return
	}
	p.output(e.Test, l)
}
