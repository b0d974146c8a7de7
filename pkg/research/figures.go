package research

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// figure is a number of a text in a comparable form.
type figure struct {
	raw    string
	text   string  // separators of thousands and leading zeros removed
	value  float64 // NaN for versions such as 1.26.8
	unit   unit    // what it counts, when that is a known unit
	counts string  // the word that follows, when it is no known unit: "nodes"
	per    string  // "six times a day": the unit of time, as a term
	about  bool    // "about", "nearly", "over": rounding is allowed
	word   bool    // written as a word
	of     string  // the name before it, as a term: "Python 3.12"
	first  int     // tokens that it stands on
	last   int
}

// unit is a unit of measure in one spelling; size turns its figure into that of
// the smallest unit of the same kind, 0 when it is not converted.
type unit struct {
	name string
	size float64
}

// unitTable lists units with their spellings. Single letters that mean several
// things (m, g, d) are left out: no unit is better than a wrong one.
const unitTable = `ns=0.000000001:ns,nanosecond,nanoseconds us=0.000001:us,µs,microsecond,microseconds ms=0.001:ms,msec,millisecond,milliseconds
	s=1:s,sec,secs,second,seconds min=60:min,mins,minute,minutes h=3600:h,hr,hrs,hour,hours day=86400:day,days week=604800:week,weeks
	month=0:month,months year=0:year,years,yr,yrs byte=0:byte,bytes bit=0:bit,bits kb=0:kb,kib,kilobyte,kilobytes mb=0:mb,mib,megabyte,megabytes
	gb=0:gb,gib,gigabyte,gigabytes tb=0:tb,tib,terabyte,terabytes %=0:%,percent,pct $=0:$,usd,dollar,dollars €=0:€,eur,euro,euros £=0:£,gbp
	mm=0.001:mm,millimetre,millimetres,millimeter,millimeters cm=0.01:cm,centimetre,centimetres,centimeter,centimeters
	metre=1:metre,metres,meter,meters km=1000:km,kilometre,kilometres,kilometer,kilometers mile=0:mile,miles foot=0:ft,foot,feet inch=0:inch,inches
	kg=0:kg,kilogram,kilograms tonne=0:tonne,tonnes ton=0:ton,tons hz=0:hz,hertz mhz=0:mhz ghz=0:ghz watt=0:watt,watts kw=0:kw,kilowatt,kilowatts
	mw=0:mw,megawatt,megawatts`

var unitsBySpelling = sync.OnceValue(func() map[string]unit {
	table := map[string]unit{}
	for entry := range strings.FieldsSeq(unitTable) {
		head, spellings, _ := strings.Cut(entry, ":")
		name, size, _ := strings.Cut(head, "=")
		factor, _ := strconv.ParseFloat(size, 64) // the table is ours
		for spelling := range strings.SplitSeq(spellings, ",") {
			table[spelling] = unit{name, factor}
		}
	}
	return table
})

var numberWords = sync.OnceValue(func() map[string]float64 {
	words := map[string]float64{"dozen": 12, "hundred": 100}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
		words[w] = float64(i)
	}
	for i, w := range strings.Fields("thirty forty fifty sixty seventy eighty ninety") {
		words[w] = float64(30 + 10*i)
	}
	return words
})

var scales = map[string]float64{"thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}

var aboutWords = map[string]bool{
	"about": true, "around": true, "roughly": true, "approximately": true, "approx": true, "nearly": true, "almost": true,
	"over": true, "under": true, "circa": true, "than": true, "least": true,
}

var months = map[string]bool{
	"january": true, "february": true, "march": true, "april": true, "may": true, "june": true, "july": true,
	"august": true, "september": true, "october": true, "november": true, "december": true,
}

var isoDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b([12]\d{3})-([01]\d)-([0-3]\d)\b`)
})

// dashVersion is a version written with hyphens: AMQP 0-9-1.
var dashVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(\d{1,2})-(\d{1,2})-(\d{1,2})\b`)
})

// plainDates writes dates of numbers as "7 March 2024", so that both spellings
// of a date have the same words and figures.
func plainDates(s string) string {
	s = clockTimes(s)
	if !strings.Contains(s, "-") {
		return s
	}
	s = dashVersion().ReplaceAllString(s, "$1.$2.$3")
	return isoDate().ReplaceAllStringFunc(s, func(m string) string {
		if t, err := time.Parse(time.DateOnly, m); err == nil {
			return t.Format("2 January 2006")
		}
		return m
	})
}

var (
	fullHour = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\d{1,2}):00\b`) })
	halfDay  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(\d{1,2})(:\d\d)? ?([ap])\.?m\b\.?`) })
)

// clockTimes writes times of day in one way: 11:00 as 11, 2 p.m. as 14.
func clockTimes(s string) string {
	if strings.Contains(s, ":00") {
		s = fullHour().ReplaceAllString(s, "$1")
	}
	if !strings.Contains(s, "m") {
		return s
	}
	return halfDay().ReplaceAllStringFunc(s, func(m string) string {
		part := halfDay().FindStringSubmatch(m)
		hour, _ := strconv.Atoi(part[1]) // two digits at most
		switch {
		case hour > 12:
			return m
		case part[3] == "p" && hour < 12:
			hour += 12
		case part[3] == "a" && hour == 12:
			hour = 0
		}
		return strconv.Itoa(hour) + part[2]
	})
}

// figuresOf reads the figures of a tokenised text.
func figuresOf(text string, tokens []token) []figure {
	var out []figure
	for i := 0; i < len(tokens); i++ {
		f, ok := figureAt(text, tokens, i)
		if !ok {
			continue
		}
		if i > 0 && tokens[i-1].content() && unicode.IsUpper(firstRune(tokens[i-1].raw)) && !months[strings.ToLower(tokens[i-1].raw)] && near(text, tokens, i-1) {
			f.of = tokens[i-1].term
		}
		if n := len(out) - 1; n >= 0 && out[n].continues(f, text, tokens) {
			f = out[n].plus(f, text, tokens)
			out = out[:n]
		}
		out = append(out, f)
		i = f.last
	}
	return out
}

// continues reports whether o is the smaller part of a duration that f begins:
// "1 hour 25 minutes", "2 h and 5 min".
func (f figure) continues(o figure, text string, tokens []token) bool {
	if f.unit.size < 60 || o.unit.size < 1 || o.unit.size >= f.unit.size {
		return false
	}
	between := strings.Fields(text[tokens[f.last].start+len(tokens[f.last].raw) : tokens[o.first].start])
	return len(between) == 1 && unitsBySpelling()[strings.ToLower(between[0])] == f.unit ||
		len(between) == 2 && unitsBySpelling()[strings.ToLower(between[0])] == f.unit && between[1] == "and"
}

// plus is both parts as one figure, in seconds.
func (f figure) plus(o figure, text string, tokens []token) figure {
	f.value = f.value*f.unit.size + o.value*o.unit.size
	f.unit = unitsBySpelling()["s"]
	f.text = strconv.FormatFloat(f.value, 'f', -1, 64)
	f.last, f.per = o.last, o.per
	f.raw = text[tokens[f.first].start : tokens[o.last].start+len(tokens[o.last].raw)]
	return f
}

// figureAt reads the figure that begins at token i.
func figureAt(text string, tokens []token, i int) (f figure, ok bool) {
	f = figure{first: i, last: i}
	if value, last := fraction(text, tokens, i); last >= i {
		f.value, f.last, f.word, f.about = value*100, last, true, true
		f.unit = unitsBySpelling()["%"]
		if u, at := unitOfPart(tokens, last); at > last {
			f.value, f.last, f.unit, f.about = value, at, u, false
		}
		f.raw = text[tokens[i].start : tokens[f.last].start+len(tokens[f.last].raw)]
		f.text = strconv.FormatFloat(f.value, 'f', -1, 64)
		return f, true
	}
	switch {
	case tokens[i].digit:
		f.raw = tokens[i].raw
		f.text, f.value = number(f.raw)
	case i > 0 && tokens[i-1].digit:
		return f, false // a word of number after a figure is its scale
	case scales[wordAt(tokens, i+1)] > 1 && (wordAt(tokens, i) == "a" || wordAt(tokens, i) == "one") && near(text, tokens, i):
		f.raw, f.value, f.word = tokens[i].raw, 1, true // a million
	default:
		f.value, f.last = wordedNumber(text, tokens, i)
		if f.last < i {
			return f, false
		}
		f.word = true
		f.raw = text[tokens[i].start : tokens[f.last].start+len(tokens[f.last].raw)]
		f.text = strconv.FormatFloat(f.value, 'f', -1, 64)
	}
	f.measure(text, tokens)
	return f, true
}

// wordedNumber reads a number in words that begins at token i: "forty-one", "two
// hundred and six", "three dozen", "twice". last is its last token, below i when
// there is none.
func wordedNumber(text string, tokens []token, i int) (value float64, last int) {
	last = i - 1
	switch strings.ToLower(tokens[i].raw) {
	case "twice":
		return 2, i
	case "once":
		if perWhat(tokens, i) == "" {
			return 0, last // as soon as, formerly
		}
		return 1, i
	}
	room := 1e9 // what may still be added: one below a ten, 99 below a hundred
	for k := i; k < len(tokens); k++ {
		if k > i && !near(text, tokens, k-1) {
			break
		}
		word := strings.ToLower(tokens[k].raw)
		if word == "and" && last >= i && room == 100 {
			continue
		}
		n, ok := numberWords()[word]
		switch {
		case !ok:
			return value, last
		case n == 100 || n == 12 && word == "dozen":
			value, room = max(value, 1)*n, n
		case n < room:
			value += n
			room = 1
			if n >= 20 {
				room = 10
			}
		default:
			return value, last
		}
		last = k
	}
	return value, last
}

var fractions = map[string]float64{"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10}

// fraction reads "half", "a fifth of", "two thirds" at token i; last is below i when
// there is none. The first half, half-time and a third attempt are none.
func fraction(text string, tokens []token, i int) (value float64, last int) {
	word := func(k int) string {
		if k < 0 || k >= len(tokens) {
			return ""
		}
		return strings.ToLower(tokens[k].raw)
	}
	hyphen := func(k int) bool {
		end := tokens[k].start + len(tokens[k].raw)
		return k > 0 && text[tokens[k].start-1] == '-' || end < len(text) && text[end] == '-'
	}
	if word(i) == "half" {
		switch word(i - 1) {
		case "first", "second", "other", "last", "latter", "each":
			return 0, i - 1
		case "a":
			if word(i-2) == "and" { // a year and a half
				return 0, i - 1
			}
		}
		if hyphen(i) {
			return 0, i - 1
		}
		return 0.5, i
	}
	count, end := 1.0, i
	switch w := word(i); {
	case tokens[i].digit:
		return 0, i - 1
	case w == "a" || w == "an":
	default:
		if count, end = wordedNumber(text, tokens, i); end < i {
			return 0, i - 1
		}
	}
	by, plural := word(end+1), false
	if fractions[by] == 0 {
		by, plural = strings.TrimSuffix(by, "s"), true
	}
	of := fractions[by]
	if of == 0 || !near(text, tokens, end) && !strings.Contains(text[tokens[end].start:tokens[end+1].start], "-") {
		return 0, i - 1
	}
	if count == 1 && (plural || word(end+2) != "of") || count > 1 && !plural && by != "halves" || count >= of {
		return 0, i - 1
	}
	return count / of, end + 1
}

// unitOfPart reads the unit of "half an hour" and "a quarter of an hour", and where
// it stands.
func unitOfPart(tokens []token, last int) (u unit, at int) {
	at = last + 1
	if wordAt(tokens, at) == "of" {
		at++
	}
	switch wordAt(tokens, at) {
	case "a", "an":
		if u := unitsBySpelling()[wordAt(tokens, at+1)]; u.size > 0 {
			return u, at + 1
		}
	}
	return unit{}, last
}

// measure reads scale, unit and hedge around the figure.
func (f *figure) measure(text string, tokens []token) {
	first, last := f.first, f.last
	end := tokens[last].start + len(tokens[last].raw)
	if rest := strings.TrimLeft(text[end:], " \u00a0"); strings.HasPrefix(rest, "%") || strings.HasPrefix(rest, "€") || strings.HasPrefix(rest, "£") {
		for _, symbol := range []string{"%", "€", "£"} {
			if strings.HasPrefix(rest, symbol) {
				f.unit = unitsBySpelling()[symbol]
			}
		}
	}
	for _, symbol := range []string{"$", "€", "£"} {
		if strings.HasSuffix(strings.TrimRight(text[:tokens[first].start], " \u00a0"), symbol) {
			f.unit = unitsBySpelling()[symbol]
		}
	}
	next := last + 1
	if next < len(tokens) {
		if scale, ok := scales[strings.ToLower(tokens[next].raw)]; ok && near(text, tokens, last) {
			f.value *= scale
			next++
		}
	}
	power := ""
	switch wordAt(tokens, next) {
	case "square":
		power, next = "²", next+1
	case "cubic":
		power, next = "³", next+1
	}
	if f.unit.name == "" && next < len(tokens) && near(text, tokens, next-1) {
		f.unit = unitsBySpelling()[strings.ToLower(tokens[next].raw)]
		if rest := text[tokens[next].start+len(tokens[next].raw):]; strings.HasPrefix(rest, "²") || strings.HasPrefix(rest, "³") {
			power = rest[:2]
		}
		if f.unit.name != "" && power != "" {
			f.unit = unit{name: f.unit.name + power}
		}
	}
	if f.unit.name == "" && next < len(tokens) && near(text, tokens, next-1) && !tokens[next].digit {
		switch word := tokens[next]; {
		case months[strings.ToLower(word.raw)]:
			f.counts = "month"
		case word.content():
			f.counts = word.term
		}
	}
	f.per = perWhat(tokens, last)
	if first > 0 && aboutWords[strings.ToLower(tokens[first-1].raw)] {
		f.about = true
	}
	if before := strings.TrimRight(text[:tokens[first].start], " "); strings.HasSuffix(before, "~") || strings.HasSuffix(before, "≈") {
		f.about = true
	}
}

// perWhat reads the unit of time of a rate, "a day" in "six times a day", within
// the three words after the figure; "" when there is none.
func perWhat(tokens []token, last int) string {
	for k := last + 1; k < min(last+4, len(tokens)-1); k++ {
		switch strings.ToLower(tokens[k].raw) {
		case "a", "an", "per", "each", "every":
			if unit := unitsBySpelling()[strings.ToLower(tokens[k+1].raw)]; unit.size > 0 || unit.name == "month" || unit.name == "year" {
				return tokens[k+1].term
			}
		}
		if tokens[k].digit {
			break
		}
	}
	return ""
}

// near reports whether only a space or a hyphen stands after token i.
func near(text string, tokens []token, i int) bool {
	if i+1 >= len(tokens) {
		return false
	}
	between := text[tokens[i].start+len(tokens[i].raw) : tokens[i+1].start]
	switch strings.Trim(between, " \u00a0`*_") {
	case "", "-", "‑":
		return len(between) < 6
	}
	return false
}

// number normalises digits. Versions with two dots have no value.
func number(raw string) (text string, value float64) {
	text = raw
	if strings.Contains(text, ",") {
		whole, fraction, _ := strings.Cut(text, ".")
		groups := strings.Split(whole, ",")
		thousands := true
		for i, g := range groups {
			thousands = thousands && (len(g) == 3 || i == 0 && len(g) <= 3)
		}
		if thousands {
			text = strings.Join(groups, "")
			if fraction != "" {
				text += "." + fraction
			}
		} else {
			text = strings.ReplaceAll(text, ",", ".")
		}
	}
	text = strings.ToLower(text)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text, math.NaN()
	}
	return strconv.FormatFloat(value, 'f', -1, 64), value
}

// in reports whether the figure stands among others: the same number of the same
// thing, an equal measure in another unit, or a rounded one when it says so.
func (f figure) in(others []figure) bool {
	return slices.ContainsFunc(others, f.equals)
}

// inHeading reports whether the figure stands among those of a heading. The number
// of a chapter measures nothing.
func (f figure) inHeading(others []figure) bool {
	return slices.ContainsFunc(others, func(o figure) bool { return (f.unit.name == "" || o.unit.name != "") && f.equals(o) })
}

func (f figure) equals(o figure) bool {
	if f.unit.name != "" && o.counts != "" || o.unit.name != "" && f.counts != "" && !o.word {
		return false // 9 seconds are not nine nodes
	}
	if o.word && f.counts != "" && o.counts != "" && f.counts != o.counts {
		return false // nor are nine tries
	}
	if f.unit.name != "" && o.unit.name != "" && f.unit.name != o.unit.name {
		return f.unit.size > 0 && o.unit.size > 0 && nearly(f.value*f.unit.size, o.value*o.unit.size, 1e-9)
	}
	if f.text == o.text && (math.IsNaN(f.value) || math.IsNaN(o.value)) {
		return true
	}
	tolerance := 1e-9
	if f.about {
		tolerance = 0.05
	}
	return nearly(f.value, o.value, tolerance)
}

func nearly(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b)) // false for NaN
}
