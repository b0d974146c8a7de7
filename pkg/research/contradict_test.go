package research

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"legwork/pkg/web"
)

// R04: small changes that turn a true sentence into a false one while nearly all
// its words stay, and rephrasings that change as much and stay true.
func TestSmallChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		page, claim, why string // why "": it stands
	}{
		// roles
		{"Servers have to be upgraded before clients.", "Clients have to be upgraded before servers.", "changed places"},
		{"Hollin Town beat Ketterby Rovers 3-2 after extra time.", "Ketterby Rovers beat Hollin Town 3-2 after extra time.", "changed places"},
		{"Hollin Town beat Ketterby Rovers 3-2 after extra time.", "Ketterby Rovers were beaten 3-2 by Hollin Town after extra time.", ""},
		{"From version 3 upgrade to 4.0 first and then to 4.3.", "From version 3 upgrade to 4.3 first and then to 4.0.", "changed places"},
		{"The residents gathered signatures for a new museum.", "For a new museum the residents gathered signatures.", ""},
		{"Agents of 5.1 work with a controller of 5.2.", "Agents of 5.2 work with a controller of 5.1.", "changed places"},
		{"In the second year the harvest was 41 tonnes, in the third 52 tonnes of wheat.", "The harvest of wheat was 52 tonnes in the third year and 41 tonnes in the second.", ""},
		// opposites
		{"The lighthouse stands outside the harbour wall.", "The lighthouse stands inside the harbour wall.", `"outside"`},
		{"July is the wettest month in the valley.", "July is the driest month in the valley.", `"wettest"`},
		{"In a deadlock the younger transaction is rolled back and the older one goes on.", "In a deadlock the older transaction is rolled back.", `"younger"`},
		{"The potato harvest grew by 4 %.", "The potato harvest shrank by 4 %.", `"grew"`},
		{"The setting is optional in the cluster file.", "The setting is not required in the cluster file.", ""},
		// negation
		{"A lost key cannot be recovered.", "A lost key can be recovered.", "negated"},
		{"The tablets soothe a sore throat. They do not treat the infection that causes it.", "The tablets treat the infection that causes a sore throat.", "negated"},
		{"Take no more than six tablets within 24 hours.", "At most six tablets within 24 hours should be taken.", ""},
		{"Orders in hand were higher than ever before.", "Never before were orders in hand as high.", ""},
		{"The report has not been audited.", "The report is unaudited.", ""},
		{"A bed in a hut costs 50 crowns with breakfast.", "A bed in a hut costs 50 crowns without breakfast.", "without"},
		// quantifiers and exceptions
		{"Most walks in the valley are marked in red.", "All walks in the valley are marked in red.", "all"},
		{"Replication is asynchronous unless the option is set.", "Replication is always asynchronous.", "exception"},
		{"All locks were built of granite except the seven of the upper staircase.", "The seven of the upper staircase were built of granite.", "exception"},
		{"All walks in the valley are marked in red.", "Every walk in the valley is marked in red.", ""},
		{"You may take photographs everywhere except in the special exhibition.", "You may take photographs in any special exhibition.", "exception"},
		{"Changed: files are compared by BLAKE instead of SHA.", "The tool now compares files by SHA instead of BLAKE.", "reverse"},
		{"The millers' association paid a third of the costs and had no say in the design.", "A third of the costs was paid by the millers' association.", ""},
		{"In the inner harbour petrol motors are forbidden and electric motors allowed.", "Petrol motors are allowed in the inner harbour.", `"forbidden"`},
		{"The server refuses new messages below 5 % and accepts them again at 8 %.", "The server rejects new messages below 5 %.", ""},
		// names and months
		{"The next bulletin appears in May 2026.", "The next bulletin appears in September 2026.", "May"},
		{"The next cup is held in Corve with eight teams.", "The next cup is held in Orrin with eight teams.", "Corve"},
	} {
		u := &url.URL{Scheme: "https", Host: "docs.example.org", Path: "/x"}
		page, err := web.ReadBytes([]byte("<html><title>x</title><body><article><h1>x</h1><p>"+tt.page+"</p><p>Ketterby and Orrin are named in September.</p></article></body></html>"), "text/html", u)
		if err != nil {
			t.Fatal(err)
		}
		s := newSource(page, web.Hit{})
		s.n = 1
		c := newChecker("", []*source{s})
		got := c.in(c.read(tt.claim), s.evidence)
		switch {
		case tt.why == "" && got.against:
			t.Errorf("%q for %q: %s", tt.claim, tt.page, got.why)
		case tt.why != "" && !strings.Contains(got.why, tt.why):
			t.Errorf("%q for %q: %q, share %.2f", tt.claim, tt.page, got.why, got.share)
		}
	}
}

// Figures are the same in words and digits, as parts and percent, in one unit and
// in two.
func TestFiguresInWords(t *testing.T) {
	t.Parallel()
	read := func(s string) []figure { return figuresOf(s, tokenize(s)) }
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"forty-one volunteers", "41 volunteers", true},
		{"two hundred and six pages", "206 pages", true},
		{"two dozen eggs", "24 eggs", true},
		{"a dozen slices", "12 slices", true},
		{"half an hour", "30 minutes", true},
		{"a quarter of an hour", "15 minutes", true},
		{"1 hour 25 minutes", "85 minutes", true},
		{"1 h 20 min", "80 min", true},
		{"1 h 20 min", "60 min", false},
		{"about a fifth of the size", "20 % of the size", true},
		{"about half of the staff", "50 % of the staff", true},
		{"four fifths of the visits", "80 % of the visits", true},
		{"a fifth of the size", "50 % of the size", false},
		{"a million files", "1,000,000 files", true},
		{"148 km²", "148 square kilometres", true},
		{"148 km²", "148 km", false},
		{"leaves twice a day", "2 departures a day", true},
		{"twice a year", "once a year", false},
	} {
		a, b := read(tt.a), read(tt.b)
		if len(a) != 1 || len(b) != 1 {
			t.Errorf("%q: %d figures, %q: %d", tt.a, len(a), tt.b, len(b))
			continue
		}
		if got := a[0].in(b); got != tt.same {
			t.Errorf("%q and %q: %v", tt.a, tt.b, got)
		}
	}
	if got := plainDates("from 11:00 to 2 p.m. and 12 a.m., not 9:30 am"); got != "from 11 to 14 and 0, not 9:30" {
		t.Errorf("times: %q", got)
	}
	for _, s := range []string{"the first half of the match", "a year and a half", "the third attempt", "once the limit is reached", "at half-time", "hundreds of them"} {
		if got := read(s); len(got) > 0 {
			t.Errorf("%q holds %v", s, slices.Collect(func(yield func(string) bool) {
				for _, f := range got {
					yield(f.raw)
				}
			}))
		}
	}
}

// A table's figure belongs to its row and its column.
func TestRowsAndColumns(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "https", Host: "docs.example.org", Path: "/x"}
	page, err := web.ReadBytes([]byte(`<html><title>x</title><body><article><h1>Data</h1><p>The motors of this series in a table of the most important values.</p><table>
<tr><th>Value</th><th>Pelmar E2</th><th>Pelmar E4</th></tr><tr><td>Static thrust</td><td>420 N</td><td>760 N</td></tr><tr><td>Battery capacity</td><td>13 kWh</td><td>35 kWh</td></tr></table></article></body></html>`), "text/html", u)
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(page, web.Hit{})
	s.n = 1
	c := newChecker("", []*source{s})
	for claim, stands := range map[string]bool{
		"The Pelmar E4 has a static thrust of 760 N.":      true,
		"The Pelmar E4 has a static thrust of 420 N.":      false,
		"The Pelmar E4 has a battery capacity of 35 kWh.":  true,
		"The Pelmar E4 has a battery capacity of 760 kWh.": false,
	} {
		if got := c.in(c.read(claim), s.evidence); (got.why == "") != stands {
			t.Errorf("%s: %q", claim, got.why)
		}
	}
}
